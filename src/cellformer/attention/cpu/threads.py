"""Doing work on the threads that PyTorch itself uses.

A second set of threads would fight with PyTorch's, which keep a core busy for some milliseconds
after each operation, waiting for the next one. The waiting ones are therefore given the work,
through the OpenMP runtime that PyTorch is linked with. (Numba's ``prange`` has threads of its own:
measured beside PyTorch's, they took up to three times as long.)
"""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import torch

_REGION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def on_threads(work: Callable[[], None], threads: int) -> None:
    """Calls ``work`` once on each of so many threads, the calling one among them, and waits.

    Raises the first exception that one of the calls raised.
    """
    if threads == 1:
        work()
        return
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # it must not end in the OpenMP runtime
            errors.append(error)

    openmp = _openmp_parallel()
    if openmp is None:
        _on_own_threads(guarded, threads)
    else:
        openmp(_REGION(lambda _: guarded()), None, threads, 0)
    if errors:
        raise errors[0]


@cache
def _openmp_parallel() -> Any:
    """``GOMP_parallel(function, data, threads, flags)`` of PyTorch's runtime, where it has one.

    GNU's runtime has it, and LLVM's and Intel's on Linux; on other systems there is none.
    """
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    try:
        parallel = ctypes.CDLL(str(library)).GOMP_parallel
    except (OSError, AttributeError):
        return None
    parallel.argtypes = [_REGION, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    parallel.restype = None
    return parallel


def _on_own_threads(work: Callable[[], None], threads: int) -> None:
    helpers = [_pool(os.getpid(), threads).submit(work) for _ in range(threads - 1)]
    work()
    for helper in helpers:
        helper.result()


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Of this process, because a forked one has no threads but its first."""
    return ThreadPoolExecutor(threads, thread_name_prefix="cellformer-attention")
