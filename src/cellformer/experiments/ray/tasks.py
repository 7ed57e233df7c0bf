"""Tasks on the rows of a source, by the workers of a Ray cluster."""

import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from cellformer.basics.lost import LostProcessError
from cellformer.data.preparing.executors import RowsTask
from cellformer.experiments.ray.cluster import SECONDS_BETWEEN_CHECKS, Connection, machine_needed
from cellformer.experiments.running.runner import reason

Done = TypeVar("Done")


def by_workers(
    tasks: Iterable[RowsTask[Done]],
    connection: Connection,
    cpus: float = 1.0,
    gpus: float = 0.0,
    retries: int = 3,
    ordered: bool = False,
) -> Iterator[tuple[int, Done]]:
    """The first row of each task, and what came of it, as it becomes ready or in their order, which
    is that of the rows.

    Twice as many tasks are taken as there is room for, those included that wait to be given in
    order. A task whose worker or machine is lost is done again, up to ``retries`` times. Raises
    what a task raises, ConnectionError where Ray has lost this machine, and LostProcessError for a
    task that is lost again and again.
    """
    import ray

    perform = ray.remote(_perform).options(
        num_cpus=cpus,
        num_gpus=gpus,
        max_retries=retries,
        retry_exceptions=[FileExistsError],  # a worker that was given up had not ended
    )
    coming = iter(tasks)
    running: dict[Any, int] = {}
    ready: dict[int, Done] = {}
    try:
        while True:
            # Enough to keep all busy, little in memory; machines may have come or gone.
            resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
            room = 2 * max(1, int(resources.get("CPU", 1) / cpus))
            while len(running) + len(ready) < room and (task := next(coming, None)) is not None:
                running[perform.remote(task)] = task.start
            if not running:
                return
            connection.check()
            for ended in ray.wait(list(running), timeout=SECONDS_BETWEEN_CHECKS)[0]:
                start = running.pop(ended)
                ready[start] = _result(ended, start, retries)
                first = min(running.values(), default=math.inf) if ordered else math.inf
                for start in sorted(start for start in ready if start < first):
                    yield start, ready.pop(start)
    finally:
        for left in running:
            ray.cancel(left, force=True)


def _result(ended: Any, start: int, retries: int) -> Any:
    import ray

    try:
        with machine_needed():
            return ray.get(ended)
    except ray.exceptions.RayTaskError as error:  # the worker's own, without its traceback
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise LostProcessError(
            f"the rows from {start} on were lost {retries + 1} times with their "
            f"worker: {reason(error)[:300]}. Finished parts are kept; call again"
        ) from error


def _perform(task: RowsTask[Any]) -> Any:
    """What a worker does."""
    return task()
