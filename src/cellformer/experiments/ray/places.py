"""The folder in which the driver of a cluster and its workers meet, where they share a disk."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from cellformer.basics.files import replace_atomically
from cellformer.basics.owners import passing
from cellformer.experiments.running.lock import locked

SECONDS_FOR_FILES = 5.0
"""How long a shared file system may take to show what another machine wrote."""
DRIVER = "driver"
"""The file in a meeting place by which it is known."""


@contextmanager
def meeting_place(folder: Path) -> Iterator[Path]:
    """A hidden folder, for as long as this lasts, in one that workers may see.

    Like all that is unfinished it says whose it is, so that what a killed process left behind is
    removed when somebody looks into ``folder``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with passing(folder.absolute() / "ray") as place:
        place.mkdir()
        (place / DRIVER).touch()
        yield place


@cache
def sees(place: Path) -> bool:
    """Whether this machine sees a `meeting_place`, and so what lies beside it; asked once.

    A folder of that name says nothing: Ray makes one on each machine for its own records.
    """
    return appears(place / DRIVER)


@contextmanager
def claimed(place: Path, name: str, folder: Path, where: str) -> Iterator[None]:
    """Has a folder to itself, and tells the driver, by a file in the `meeting_place`, where."""
    with locked(folder, wait=True):  # a worker that was given up for lost may still be at it
        with replace_atomically(place / name, durable=False) as unfinished:
            unfinished.write_text(where, encoding="utf-8")
        yield


def whereabouts(place: Path, name: str) -> str | None:
    """Where the work of this name has been begun last; None if it has not."""
    try:
        return (place / name).read_text(encoding="utf-8")
    except OSError:
        return None


def appears(path: Path) -> bool:
    """Whether a path exists, or does so soon, where file systems show news with a delay."""
    deadline = time.monotonic() + SECONDS_FOR_FILES
    while not path.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
