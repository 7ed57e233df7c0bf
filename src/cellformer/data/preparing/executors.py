"""Where tasks are done on this machine, such as the making of shards: here, or in processes."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from typing import Protocol, TypeVar, runtime_checkable

from cellformer.basics.lost import LostProcessError
from cellformer.basics.stopping import children_are_spared
from cellformer.data.preparing.workers import start_worker

NO_MAIN_GUARD = (
    'the script that calls prepare lacks `if __name__ == "__main__":` around its work, which '
    "spawned processes must not do again"
)

LOOK_SECONDS = 1.0
"""After which it is looked whether all processes are there."""

Done = TypeVar("Done", covariant=True)


@runtime_checkable
class RowsTask(Protocol[Done]):
    """Work on some rows, which can be sent to another process."""

    @property
    def start(self) -> int:
        """The first of the rows."""

    def __call__(self) -> Done:
        """Does it."""


def one_by_one(tasks: Iterable[RowsTask[Done]]) -> Iterator[tuple[int, Done]]:
    """One task after the other, in this process: the first row of each, and what came of it."""
    for task in tasks:
        yield task.start, task()


@dataclass(frozen=True)
class LocalProcesses:
    """Tasks in that many spawned processes; what comes of them should be small, as it travels."""

    workers: int

    def __call__(self, tasks: Iterable[RowsTask[Done]]) -> Iterator[tuple[int, Done]]:
        """Raises LostProcessError where a process is lost."""
        with _pool(self.workers) as pool:
            running: dict[Future[Done], int] = {}
            for task in tasks:
                with children_are_spared():  # the first task starts the processes
                    running[pool.submit(task)] = task.start
                if len(running) >= 2 * self.workers:  # enough to keep all busy, little in memory
                    yield from _ready(pool, running)
            while running:
                yield from _ready(pool, running)


def _ready(
    pool: ProcessPoolExecutor, running: dict[Future[Done], int]
) -> Iterator[tuple[int, Done]]:
    while not (found := wait(running, LOOK_SECONDS, FIRST_COMPLETED).done):
        # The pool watches the processes that it had when it was last woken. One that was started
        # by the submit that woke it, and is gone before the next, would be waited for forever.
        processes = [*(pool._processes or {}).values()]
        if any(process.exitcode is not None for process in processes):
            raise BrokenProcessPool("a process is gone")
    for future in found:
        yield running.pop(future), future.result()


def _kill(processes: Iterable[BaseProcess]) -> None:
    for process in processes:
        process.kill()


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    others = set(active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=start_worker)
    try:
        yield pool
    except (KeyboardInterrupt, GeneratorExit):  # no more wanted: half a part is not waited for
        _kill(set(active_children()) - others)
        raise
    except BrokenProcessPool as error:
        # The pool ends those that it knows when one dies, but waits for one that is just starting.
        _kill(set(active_children()) - others)
        raise LostProcessError(
            f"a preparation process ended unexpectedly: it was killed, out of memory, or "
            f"{NO_MAIN_GUARD}. Finished parts are kept; do it again, with fewer data.workers where "
            "memory is short"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
