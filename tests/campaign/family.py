"""The processes below a process, as Linux tells of them; elsewhere there are none."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>


def adopt_orphans() -> None:
    """Has processes whose parents are gone become children of this one."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def workers_of(parent: int) -> list[tuple[int, str]]:
    """Number and command line of all processes below one that work for it, by number.

    Without Python's trackers of resources, which are nobody's work.
    """
    return [(number, words) for number, words in _below(parent)
            if words and "resource_tracker" not in words]  # fmt: skip


def ended(parent: int, seconds: float) -> list[str]:
    """Waits until there is no process below one; ends those that are left, and names them."""
    deadline = time.monotonic() + seconds
    while True:
        _reap()
        left = _below(parent)
        if not left:
            return []
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    for number, _ in left:
        os.kill(number, signal.SIGKILL)
    _reap()
    return [words or "a process without words" for _, words in left]


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _below(parent: int) -> list[tuple[int, str]]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, above = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # has ended
        if state not in "ZX":
            children.setdefault(int(above), []).append(int(folder.name))
    found: list[tuple[int, str]] = []
    waiting = [parent]
    while waiting:
        for number in children.get(waiting.pop(), ()):
            waiting.append(number)
            try:
                words = (Path("/proc") / str(number) / "cmdline").read_bytes()
            except OSError:
                continue
            found.append((number, words.replace(b"\0", b" ").decode("utf-8", "replace").strip()))
    return sorted(found)
