"""Memory for training steps: large pages, and keeping what a step frees for the next one."""

import ctypes
import logging
import os
import sys
from pathlib import Path

logger = logging.getLogger(__name__)

# <malloc.h> of the GNU C library
M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4


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
    if not sys.platform.startswith("linux"):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(set_option(M_MMAP_MAX, 0) and set_option(M_TRIM_THRESHOLD, 2**31 - 1))
