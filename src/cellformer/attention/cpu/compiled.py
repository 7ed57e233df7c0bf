"""Compiling functions for the machine at hand, once, and running them in parts."""

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba
import torch

from cellformer.attention.cpu.linked import LinkingCompiler
from cellformer.attention.cpu.threads import on_threads

logger = logging.getLogger(__name__)

PARTS_PER_THREAD = 4  # so that no one waits long for a thread that was late
SMALL = 100_000  # numbers read and written, below which threads cost more than they save

LINKED_BY = "0.68."
"""Versions of Numba whose kernels are linked; others compile every part by itself."""
KERNEL: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
"""Options of Numba's; C never calls."""


def kernel(function: Callable[..., None]) -> Any:
    """Compiles a function of (part, number of parts, ...) that does this part of the work.

    The part that follows the last one must be empty. The compiled code is cached between
    processes where Numba finds a folder to write to. A division by zero gives infinity. The
    global interpreter lock is released.
    """
    options = KERNEL | {"nogil": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba's: there is no such folder
        return numba.njit(**options)(function)


def part_of_kernel(function: Callable[..., Any]) -> Any:
    """Compiles a function for kernels to call; Python cannot."""
    options = KERNEL | {"no_cpython_wrapper": True, "pipeline_class": LinkingCompiler}
    return numba.njit(**(options if linking_is_known() else KERNEL))(function)


def linking_is_known() -> bool:
    """Whether `LinkingCompiler` was tried with this Numba, of whose inner parts it is made."""
    known: bool = numba.__version__.startswith(LINKED_BY)
    return known


class Work(NamedTuple):
    """A kernel, about how many numbers it reads and writes, and what it gets after the part."""

    compiled: Any
    size: int
    arguments: tuple[object, ...]


def run(works: Sequence[Work]) -> None:
    """Does all parts of all works, in any order, on as many threads as PyTorch uses.

    If all together are few numbers, one thread does them. Logs how long compiling took, if it had
    to be done.
    """
    size = sum(work.size for work in works)
    threads = torch.get_num_threads() if size > SMALL else 1
    waiting: deque[tuple[Work, int, int]] = deque()
    for work in works:
        share = threads * PARTS_PER_THREAD * work.size / max(size, 1)
        parts = max(1, math.ceil(share)) if threads > 1 else 1
        _compile(work, parts)
        waiting.extend((work, part, parts) for part in range(parts))

    def share_in() -> None:
        while waiting:
            try:
                work, part, parts = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            work.compiled(part, parts, *work.arguments)

    on_threads(share_in, threads)


def _compile(work: Work, parts: int) -> None:
    """Does an empty part, so that compiling happens here, in the calling thread."""
    compiled = work.compiled
    misses, start = sum(compiled.stats.cache_misses.values()), time.perf_counter()
    compiled(parts, parts, *work.arguments)
    if sum(compiled.stats.cache_misses.values()) == misses:
        return
    where = compiled.stats.cache_path
    logger.info(
        "compiled %s for this machine in %.1f s; %s",
        compiled.__name__.replace("_", " "),
        time.perf_counter() - start,
        f"other processes will find it in {where}"
        if where
        else "other processes will do so again: no folder to keep it (see NUMBA_CACHE_DIR)",
    )
