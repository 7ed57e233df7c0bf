"""What surrounds a training: the other processes, signals, and what their errors become."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cellformer.basics.lost import LOADER_LOST, lost_loader
from cellformer.basics.stopping import StopRequests, StopSignal
from cellformer.training.config import TrainingConfig
from cellformer.training.loop.devices import device_of
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.loop.world import PeerError, World, joined, lost_contact


@contextmanager
def session(config: TrainingConfig, folder: Path) -> Iterator[tuple[World, StopRequests]]:
    """Joins the processes that were launched together, and listens to signals.

    Raises `TrainingInterrupted` for a signal, and `PeerError` where another process is gone.
    """
    with StopRequests() as requests:
        try:
            with joined(device_of(config)) as world:
                yield world, requests
        except StopSignal as stopped:
            raise TrainingInterrupted(folder, stopped.number) from stopped
        except PeerError:
            raise
        except RuntimeError as error:
            if lost_loader(error):
                raise PeerError(f"{LOADER_LOST}; go on with --resume {folder}") from error
            if not lost_contact(error):
                raise
            raise PeerError(
                "another process of this training has ended; its own message says why, and where "
                f"there is none, it was killed. What was kept goes on with: --resume {folder}"
            ) from error
