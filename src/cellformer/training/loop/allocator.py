"""Memory for training steps: large pages, and keeping what a step frees for the next one."""

import ctypes
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

logger = logging.getLogger(__name__)

# <malloc.h> of the GNU C library
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
M_MMAP_MAX = -4

KEEP = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1}
RETURN = {M_MMAP_MAX: 65536, M_MMAP_THRESHOLD: 32 << 20, M_TRIM_THRESHOLD: 64 << 20}
"""What it comes to by itself after it has freed large blocks."""


LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def ask_for_large_pages() -> None:
    """Has PyTorch ask for pages of 2 MB for its large tensors, where Linux gives them on request.

    A step touches rows all over its tensors, and with small pages often has to wait for their
    addresses: 5 % of its time. PyTorch looks only once, at its first tensor; a value of
    THP_MEM_ALLOC_ENABLE that is already there stays.
    """
    try:
        on_request = "[madvise]" in LARGE_PAGES.read_text()
    except OSError:
        return
    if on_request:
        os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")


def keep_freed_memory() -> bool:
    """Tells the C library to keep freed memory instead of giving it back to the system.

    Every step allocates tensors of the same megabytes anew. By default the GNU C library takes
    each of them fresh from the system, which then has to clear it page by page: a third of a step.
    The process keeps the most memory that it once used. Does nothing, and returns False, where
    there is another C library.
    """
    return _set(KEEP)


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """`keep_freed_memory`, but afterwards what is free goes back, and what is freed from then on.

    What comes after the steps allocates other sizes, for which the kept memory has no room.
    """
    kept = keep_freed_memory()
    try:
        yield
    finally:
        if kept and _set(RETURN):
            ctypes.CDLL(None).malloc_trim(0)


def _set(options: Mapping[int, int]) -> bool:
    """Whether the C library is GNU's, and does so."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return all(set_option(option, value) for option, value in options.items())
