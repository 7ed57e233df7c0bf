"""Batches from the processes that make them to the one that trains."""

import io
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from cellformer.basics.stopping import children_are_spared
from cellformer.complexes.batches.batch import CellBatch

PER_CORE = 4
"""The most processes that are of any use; making a batch takes a small part of a step."""
FILES_PER_WORKER = 10
SPARE_FILES = 24


@dataclass(frozen=True, eq=False)
class Sent:
    """A batch on its way: it arrives as a `CellBatch`, through a pipe.

    PyTorch would send each of its tensors by a file descriptor or a file of /dev/shm of its own,
    of which there may be few; where they run out, it waits forever.
    """

    batch: CellBatch

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
        pickler.dispatch_table = {Tensor: _as_array}
        pickler.dump(self.batch)
        return pickle.loads, (stream.getvalue(),)


class Loader(DataLoader[CellBatch]):
    """A loader whose processes leave signals to the one that trains."""

    def __iter__(self) -> Iterator[CellBatch]:  # type: ignore[override]
        with children_are_spared():
            return super().__iter__()


def check_workers(workers: int) -> None:
    """Raises ValueError for more processes than this machine has room for."""
    if not workers:
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    most = PER_CORE * (cores or 1)
    if workers > most:
        raise ValueError(
            f"{workers} processes that assemble batches (training.loader_workers) are too many for "
            f"{cores} cores; take {most} at most, or 0, which is often as fast"
        )
    left = _files_left()
    needed = 2 * FILES_PER_WORKER * workers + SPARE_FILES  # of training and of validation
    if left is not None and needed > left:
        raise ValueError(
            f"{workers} processes that assemble batches (training.loader_workers) need about "
            f"{needed} open files, and {left} are left to this process; allow more, as with "
            "ulimit -n 4096, or set training.loader_workers to 0"
        )


def _files_left() -> int | None:
    """How many more files this process may open; None where that cannot be told."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if limit == resource.RLIM_INFINITY else limit - len(os.listdir("/dev/fd"))
    except (ImportError, OSError):  # Windows
        return None


def _as_array(tensor: Tensor) -> tuple[Callable[..., Tensor], tuple[Any]]:
    return torch.from_numpy, (tensor.numpy(),)
