"""A folder of files that can be fetched again, of which no more is kept than so many bytes."""

import mmap
import os
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cellformer.basics.files import replace_atomically

try:
    import fcntl
except ImportError:  # Windows, where nobody removes a mapped file
    fcntl = None  # type: ignore[assignment]

OPEN = 24
"""Files that a process holds at once, beside pinned ones; each has two descriptors."""
LOCKS = 16
"""So many fetches can go on at once; two of the same file never do."""
Fetch: TypeAlias = Callable[[], bytes]
"""Gives the bytes of a file from where it comes from."""


class NoRoomError(OSError):
    """What is wanted is larger than the folder may be, beside what others are reading there."""


@dataclass(eq=False)
class Held:
    """What was read of a file, which nobody removes before it is given back."""

    value: Any
    descriptor: int

    def give_back(self) -> None:
        """Lets others remove the file; its pages stay for as long as an array of them lives."""
        _unlock(self.descriptor)  # the mapping has a descriptor too, and would keep the lock
        os.close(self.descriptor)


@dataclass(eq=False)
class BoundedFolder:
    """Files that are fetched when they are asked for; the least recently used ones make room.

    Any number of processes may use one folder. A file that is held by one of them is not removed,
    for which it is locked (``flock``); where there are no such locks, as on Windows, the system
    refuses to remove it.
    """

    folder: Path
    limit: int  # bytes
    _held: OrderedDict[str, Held] = field(default_factory=OrderedDict, init=False)
    _pinned: OrderedDict[str, Held] = field(default_factory=OrderedDict, init=False)

    def __post_init__(self) -> None:
        weakref.finalize(self, _give_back, self._held, self._pinned)

    def get(self, name: str, fetch: Fetch, read: Callable[[memoryview], Any]) -> Any:
        """What ``read`` makes of the bytes of a file, which are fetched unless they are there.

        ``read`` raises ValueError where they are not as they should be. What lies there is then
        fetched anew; otherwise it is raised, and so are NoRoomError and what ``fetch`` raises.
        """
        held = self._held.get(name)
        if held is None:
            held = self._taken(name, read) or self._fetched(name, fetch, read)
            self._held[name] = held
            while len(self._held) > OPEN:
                self._held.popitem(last=False)[1].give_back()
        self._held.move_to_end(name)
        return held.value

    def pinned(self, name: str, fetch: Fetch, read: Callable[[memoryview], Any]) -> Any:
        """The same, to be held for as long as this object lives."""
        if name not in self._pinned:
            self._pinned[name] = self._taken(name, read) or self._fetched(name, fetch, read)
        return self._pinned[name].value

    def _taken(self, name: str, read: Callable[[memoryview], Any]) -> Held | None:
        """A file that is there already."""
        file = self.folder / name
        try:
            held = _hold(file, read)
        except ValueError:  # the disk has changed it
            file.unlink(missing_ok=True)
            return None
        except OSError:  # it is not there, or is just being removed
            return None
        with suppress(OSError):  # only the order of removal depends on it
            os.utime(file)
        return held

    def _fetched(self, name: str, fetch: Fetch, read: Callable[[memoryview], Any]) -> Held:
        from filelock import FileLock

        self.folder.mkdir(parents=True, exist_ok=True)
        file, number = self.folder / name, sum(name.encode()) % LOCKS
        while True:
            with FileLock(self.folder / f".fetching-{number}.lock"):
                held = self._taken(name, read)  # another process may have fetched it
                if held is not None:
                    return held
                data = fetch()
                read(memoryview(data))
                with FileLock(self.folder / ".room.lock"):
                    self._make_room(len(data))
                    with (
                        replace_atomically(file, durable=False) as unfinished,
                        unfinished.open("wb") as stream,
                    ):
                        stream.write(data)
                    held = _hold(file, read)
            if held is not None:
                return held

    def _make_room(self, size: int) -> None:
        """Removes the files that were not used for longest, those of this process at last."""
        files = []
        for entry in os.scandir(self.folder):
            if not entry.name.startswith("."):
                known = entry.stat()
                files.append((known.st_mtime_ns, known.st_size, Path(entry.path)))
        left = sum(length for _, length, _ in files) + size - self.limit
        for own in (False, True):
            if own and left > 0:
                _give_back(self._held)
            for _, length, file in sorted(files):
                if left > 0 and file.exists() and _remove(file):
                    left -= length
        if left > 0:
            raise NoRoomError(
                f"{self.folder} may have {self.limit:,} bytes; {left:,} more are needed for "
                f"{size:,} bytes beside what is being read there"
            )


def _give_back(*held: OrderedDict[str, Held]) -> None:
    for each in held:
        while each:
            each.popitem()[1].give_back()


def _hold(file: Path, read: Callable[[memoryview], Any]) -> Held | None:
    """Maps a file and locks it against removal; None where it was removed meanwhile."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        _lock(descriptor, shared=True)
        if os.fstat(descriptor).st_nlink:
            data = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
            return Held(read(memoryview(data)), descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _remove(file: Path) -> bool:
    """Unless it is in use."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            _lock(descriptor, shared=False)
            file.unlink()
        finally:
            os.close(descriptor)
    except OSError:
        return False
    return True


def _lock(descriptor: int, shared: bool) -> None:
    """Raises OSError where another process holds what contradicts it."""
    if fcntl is not None:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)


def _unlock(descriptor: int) -> None:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
