"""Whether an error says something of a file, or of the process that wanted to read it."""

import errno
import gc
from collections.abc import Callable
from typing import TypeVar

OF_PROCESS = frozenset(
    (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES, errno.EPERM, errno.EINTR)
)
"""No room for more files or memory, or no right to read: the file may be as good as ever."""

Found = TypeVar("Found")


def raise_of_process(error: Exception) -> None:
    """Raises the error again unless it says something of the file."""
    if isinstance(error, OSError) and error.errno in OF_PROCESS:
        raise error


def with_files(opened: Callable[[], Found]) -> Found:
    """What a function opens, if need be after others that nobody uses any more were closed.

    A memory-mapped array holds its file for as long as it lives, and one that is part of a cycle
    of references lives until Python looks for such cycles.
    """
    try:
        return opened()
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
    gc.collect()
    return opened()
