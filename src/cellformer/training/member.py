"""``python -m cellformer.training.member FOLDER STOP MODULE...``, as `launch` starts it."""

import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from cellformer.basics.stopping import RESUME_ME, listen_to_the_end


def main(arguments: Sequence[str]) -> int:
    """Goes on with the run of a folder beside the other members; returns the exit code."""
    listen_to_the_end(_leave)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    folder, stop_after, *modules = arguments
    from cellformer.basics.messages import say
    from cellformer.basics.parts.trust import allow_parts  # a signal may come before all this
    from cellformer.training.loop.divergence import DIVERGED, TrainingDiverged
    from cellformer.training.loop.preemption import TrainingInterrupted
    from cellformer.training.loop.world import PeerError, is_first
    from cellformer.training.train import resume

    try:
        allow_parts(*modules)
        resume(Path(folder), int(stop_after) if stop_after else None)
    except (TrainingInterrupted, KeyboardInterrupt):
        return RESUME_ME
    except PeerError:  # the parent knows which one
        return 1
    except TrainingDiverged as diverged:  # in all members alike
        if is_first():
            say(diverged)
        return DIVERGED
    except (ValueError, OSError, ImportError) as error:
        say(error)
        return 1
    return 0


def _leave(number: int) -> NoReturn:
    os._exit(RESUME_ME)


def _leave_with_parent() -> None:
    os.read(0, 1)  # its end of the pipe is closed when it is gone
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
