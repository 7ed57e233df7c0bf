"""Names of unfinished files and folders, which say whose they are, so that left ones are found."""

import functools
import hashlib
import os
import re
import shutil
import socket
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNKNOWN_AFTER = 24 * 3600.0
"""Seconds after which what another machine has left unfinished is taken to be abandoned."""

_OWNED = re.compile(r"\.(?P<host>[0-9a-f]{8})-(?P<process>\d+)-[0-9a-f]{8}\.tmp$")
_looked_into: set[Path] = set()


def unfinished(path: Path) -> Path:
    """A hidden sibling of ``path``, on the same file system, to be renamed when complete."""
    return path.with_name(f".{path.name}.{mark()}.tmp")


@contextmanager
def passing(path: Path) -> Iterator[Path]:
    """An `unfinished` sibling of ``path``, in a folder that is there, which is gone at the end.

    It may have been renamed by then. What ended processes left in the folder is removed before.
    """
    clear_once(path.parent)
    hidden = unfinished(path)
    try:
        yield hidden
    finally:
        remove(hidden)


def mark() -> str:
    """Of this process: its machine, its number, and something new every time."""
    return f"{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def clear_once(folder: Path) -> None:
    """Removes what ended processes have left unfinished in a folder; looks there only once.

    What belongs to a living process stays, and so does for a day what another machine, or this one
    before it was started anew, has left, as nobody here knows whether it is still at work.
    """
    if folder in _looked_into:
        return
    _looked_into.add(folder)
    try:
        left = [path for path in folder.glob(".*.tmp") if abandoned(path)]
    except OSError:
        return
    for path in left:
        remove(path)


def abandoned(path: Path) -> bool:
    """Whether nobody is going to finish it."""
    owned = _OWNED.search(path.name)
    if owned is not None and owned["host"] == _host():
        return not _lives(int(owned["process"]))
    try:
        return time.time() - path.lstat().st_mtime > UNKNOWN_AFTER
    except OSError:
        return False


def remove(path: Path) -> None:
    """A file, or a folder with all in it, as far as that is possible."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


@functools.cache
def _host() -> str:
    """Where numbers of processes mean the same: a machine since its start, or a container."""
    told = [socket.gethostname()]
    try:
        told.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        told.append(os.readlink("/proc/self/ns/pid"))
    except OSError:
        pass  # not Linux
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:8]


def _lives(process: int) -> bool:
    if sys.platform == "win32":  # to ask there means to end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True
