"""That large files are as they were written, found out once for all processes of a machine."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cellformer.basics.cache import cache_folder
from cellformer.basics.files import replace_atomically
from cellformer.basics.sealed import FaultError, read_sealed, sealed

REMEMBERED_FROM = 1 << 26
"""Bytes that take longer to read than to remember; what is smaller is read by every process."""
BOOT = Path("/proc/sys/kernel/random/boot_id")


def known_as_verified(place: Path, state: str) -> bool:
    """Whether `verified_once` has written down that these files were right."""
    record = _record(place)
    return record is not None and _told(record) == state


@contextmanager
def verified_once(place: Path, state: str, size: int) -> Iterator[bool]:
    """Whether the files of a place have to be verified by this process, which then does it within.

    Where they are large, one process does and the others wait; if nothing is raised, it is written
    down in the cache folder that they were right in this ``state``, which has to tell their inodes,
    sizes and times. That is believed on this machine, until it is started anew.

    So whatever writes to the files is found, by any process that opens them afterwards: times
    change with every write, to the nanosecond or a tick of the clock. Not found, until the machine
    is started anew, is what changes bytes without a write after they have been verified: a disk
    that decays, or somebody who sets times back. Files smaller than `REMEMBERED_FROM`, those of a
    system that does not tell when it was started, and all where the cache cannot be written are
    verified in each process, which finds such a change too.
    """
    record = _record(place) if size >= REMEMBERED_FROM else None
    if record is None:
        yield True
        return
    from filelock import FileLock

    if _told(record) == state:
        yield False
        return
    with FileLock(record.with_suffix(".lock")):
        needed = _told(record) != state  # another process may have done it meanwhile
        yield needed
        if needed:
            told = sealed({"place": str(place), "boot": _boot(), "state": state})
            with replace_atomically(record, durable=False) as unfinished:
                unfinished.write_text(json.dumps(told), encoding="utf-8")


class VerifiedPieces:
    """The pieces of the files of a place that were found right, for all processes of a machine.

    What `verified_once` says of its record holds of this one, but that several processes may verify
    the same piece at once, each for itself. A process sees what others write down meanwhile. Where
    the record cannot be written, this process remembers alone.
    """

    def __init__(self, place: Path, state: str):
        record = _record(place)
        self._file: Path | None = None
        self._state = state
        self._known: set[str] = set()
        self._read = 0
        if record is not None:
            self._file = record.with_suffix(f".{_mark(state)}.pieces")
            for other in record.parent.glob(f"{record.stem}.*.pieces"):
                if other != self._file:  # of files that are no more what they were
                    other.unlink(missing_ok=True)

    def holds(self, piece: str) -> bool:
        """Whether a piece was found right, here or by another process."""
        if piece not in self._known:
            self._read_more()
        return piece in self._known

    def add(self, piece: str) -> None:
        """Writes down that a piece is right."""
        self._known.add(piece)
        if self._file is not None:
            with suppress(OSError), self._file.open("ab", buffering=0) as stream:
                stream.write(f"{self._seal(piece)} {piece}\n".encode())

    def _read_more(self) -> None:
        try:
            if self._file is None or self._file.stat().st_size == self._read:
                return
            with self._file.open("rb") as stream:
                stream.seek(self._read)
                lines = stream.read()
        except OSError:  # nothing is written down yet, or it cannot be read: it is verified here
            return
        whole, end, _ = lines.rpartition(b"\n")
        self._read += len(whole) + len(end)
        for line in whole.decode(errors="replace").split("\n"):
            seal, _, piece = line.partition(" ")
            if seal == self._seal(piece):  # a damaged line says nothing
                self._known.add(piece)

    def _seal(self, piece: str) -> str:
        return _mark(f"{self._state}\n{piece}")


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _boot() -> str:
    return BOOT.read_text(encoding="ascii").strip()


def _record(place: Path) -> Path | None:
    """Where it is written down of the files of a place; None where that cannot be."""
    folder = cache_folder("verified") if BOOT.exists() else None
    if folder is None:
        return None
    name = hashlib.sha256(f"{place}\n{_boot()}".encode()).hexdigest()[:32]
    return folder / f"{name}.json"


def _told(record: Path) -> str | None:
    try:
        values = read_sealed(record)
    except (OSError, FaultError):  # not there, or damaged: the files are verified again
        return None
    state = values.get("state") if isinstance(values, dict) else None
    return state if isinstance(state, str) else None
