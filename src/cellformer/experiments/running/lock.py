"""Several processes at one grid: each run folder is trained by one of them at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path, wait: bool) -> Iterator[bool]:
    """Has a run folder to itself, for as long as this lasts and the process lives.

    Where another process has it, waits for that one, or else says False. Of processes that share
    a training, the first one claims for all.
    """
    from filelock import FileLock, Timeout

    if int(os.environ.get("RANK", 0)):
        yield True
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
