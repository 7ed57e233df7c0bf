"""That large files are as they were written, found out once for all processes of a machine."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cellformer.basics.cache import cache_folder
from cellformer.basics.files import replace_atomically
from cellformer.basics.sealed import FaultError, read_sealed, sealed

REMEMBERED_FROM = 1 << 26
"""Bytes that take longer to read than to remember; what is smaller is read by every process."""
BOOT = Path("/proc/sys/kernel/random/boot_id")


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
    folder = cache_folder("verified") if size >= REMEMBERED_FROM and BOOT.exists() else None
    if folder is None:
        yield True
        return
    from filelock import FileLock

    boot = BOOT.read_text(encoding="ascii").strip()
    name = hashlib.sha256(f"{place}\n{boot}".encode()).hexdigest()[:32]
    record = folder / f"{name}.json"
    if _told(record) == state:
        yield False
        return
    with FileLock(folder / f"{name}.lock"):
        needed = _told(record) != state  # another process may have done it meanwhile
        yield needed
        if needed:
            told = sealed({"place": str(place), "boot": boot, "state": state})
            with replace_atomically(record, durable=False) as unfinished:
                unfinished.write_text(json.dumps(told), encoding="utf-8")


def _told(record: Path) -> str | None:
    try:
        values = read_sealed(record)
    except (OSError, FaultError):  # not there, or damaged: the files are verified again
        return None
    state = values.get("state") if isinstance(values, dict) else None
    return state if isinstance(state, str) else None
