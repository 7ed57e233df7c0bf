"""Compiling functions for the machine at hand, once, and running them on several threads.

The threads are Python's, not those of Numba's ``prange``: its OpenMP layer keeps a second set of
threads beside PyTorch's, which wait busily for each other (on a loaded machine 8 ms at each end
of a loop), and its own layer ends the process when two threads enter it.
"""

import logging
import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba
import torch

logger = logging.getLogger(__name__)

PARTS_PER_THREAD = 4  # so that no one waits long for a thread that was late
SMALL = 100_000  # numbers read and written, below which threads cost more than they save


def kernel(function: Callable[..., None]) -> Any:
    """Compiles a function of (part, number of parts, ...) that does this part of the work.

    The compiled code is cached between processes where Numba finds a folder to write to. A
    division by zero gives infinity. The global interpreter lock is released.
    """
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # Numba's: there is no such folder
        return numba.njit(nogil=True, error_model="numpy")(function)


def run(compiled: Any, size: int, *arguments: object) -> None:
    """Does all parts of a kernel's work, on as many threads as PyTorch uses.

    Work of a ``size`` of few numbers is done by one. Logs how long compiling took, if it had to.
    """
    threads = torch.get_num_threads() if size > SMALL else 1
    parts = threads * PARTS_PER_THREAD if threads > 1 else 1
    waiting = deque(range(parts))

    def work() -> None:
        while waiting:
            try:
                part = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            compiled(part, parts, *arguments)

    misses, start = sum(compiled.stats.cache_misses.values()), time.perf_counter()
    helpers = [_pool(os.getpid(), threads).submit(work) for _ in range(threads - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():  # it has begun
            helper.result()
    if sum(compiled.stats.cache_misses.values()) > misses:
        _log_compiled(compiled, time.perf_counter() - start)


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Of this process, because a forked one has no threads but its first."""
    return ThreadPoolExecutor(threads, thread_name_prefix="cellformer-attention")


def _log_compiled(compiled: Any, seconds: float) -> None:
    name = compiled.__name__.replace("_", " ")
    where = compiled.stats.cache_path
    logger.info(
        "compiled %s for this machine in %.1f s; %s",
        name,
        seconds,
        f"other processes will find it in {where}"
        if where
        else "other processes will do so again: no folder to keep it (see NUMBA_CACHE_DIR)",
    )
