"""Preparation of large sets by the workers of a Ray cluster."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from cellformer.basics.files import replace_atomically
from cellformer.basics.lost import LostProcessError
from cellformer.data.preparing.shards import Shard, ShardTask, finished_shard
from cellformer.experiments.ray.cluster import (
    LOCAL,
    SECONDS_BETWEEN_CHECKS,
    Connection,
    connected,
    machine_needed,
)
from cellformer.experiments.ray.places import appears, meeting_place, sees
from cellformer.experiments.running.runner import reason


@dataclass(frozen=True)
class RayShards:
    """Shards by workers of a cluster, one core each.

    They are written where they are needed by workers that see the cache of this machine, and come
    here through Ray from others. The store is, byte for byte, that of a single machine. A shard
    whose worker or machine is lost is made again by another one, up to ``retries`` times.
    """

    address: str = LOCAL
    retries: int = 3

    def __call__(self, tasks: Iterable[ShardTask]) -> Iterator[tuple[int, Shard]]:
        """Raises what a task and the checks of `connected` raise, and LostProcessError for a shard
        that is lost again and again."""
        remaining = iter(tasks)
        first = next(remaining, None)
        if first is None:
            return
        with (
            connected(self.address, cpus=1.0) as connection,
            meeting_place(first.file.parent) as place,
        ):
            yield from self._made(chain([first], remaining), place, connection)

    def _made(
        self, tasks: Iterator[ShardTask], place: Path, connection: Connection
    ) -> Iterator[tuple[int, Shard]]:
        import ray

        make = ray.remote(_make).options(
            num_cpus=1,
            max_retries=self.retries,
            retry_exceptions=[FileExistsError],  # a worker that was given up had not ended
        )
        running: dict[Any, ShardTask] = {}
        try:
            while True:
                # Enough to keep all busy, little in memory; machines may have come or gone.
                resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
                room = 2 * max(1, int(resources.get("CPU", 1)))
                while len(running) < room and (task := next(tasks, None)) is not None:
                    running[make.remote(task, place)] = task
                if not running:
                    return
                connection.check()
                for done in ray.wait(list(running), timeout=SECONDS_BETWEEN_CHECKS)[0]:
                    task = running.pop(done)
                    yield task.start, self._shard(done, task)
        finally:
            for left in running:
                ray.cancel(left, force=True)

    def _shard(self, done: Any, task: ShardTask) -> Shard:
        import ray

        try:
            with machine_needed():
                shard: Shard
                shard, data = ray.get(done)
        except ray.exceptions.RayTaskError as error:  # the worker's own, without its traceback
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise LostProcessError(
                f"the rows from {task.start} on were lost {self.retries + 1} times with their "
                f"worker: {reason(error)[:300]}. Finished parts are kept; call again"
            ) from error
        # What it holds is compared with its checksums when it is appended to the store.
        if data is not None:
            with replace_atomically(task.file, durable=False) as unfinished:
                unfinished.write_bytes(data)
        appears(task.file)  # soon, where a file system shows news with a delay
        return replace(shard, file=task.file)


def _make(task: ShardTask, place: Path) -> tuple[Shard, bytes | None]:
    """What a worker does; a shard that a lost worker had finished is taken as it is.

    Where the worker does not see the cache of the driver, the shard's bytes go there.
    """
    if sees(place):
        return finished_shard(task.file) or task(), None
    with tempfile.TemporaryDirectory(prefix="cellformer-") as folder:
        shard = replace(task, file=Path(folder) / task.file.name)()
        return shard, shard.file.read_bytes()
