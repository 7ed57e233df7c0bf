"""Preparation of large sets by the workers of a Ray cluster."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from cellformer.basics.files import replace_atomically
from cellformer.data.preparing.shards import Shard, ShardTask, finished_shard
from cellformer.experiments.ray.cluster import LOCAL, connected
from cellformer.experiments.ray.places import appears, meeting_place, sees
from cellformer.experiments.ray.tasks import by_workers


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
        """Raises what a task and the checks of `connected` raise, and as `by_workers` does."""
        remaining = iter(tasks)
        first = next(remaining, None)
        if first is None:
            return
        with (
            connected(self.address, cpus=1.0) as connection,
            meeting_place(first.file.parent) as place,
        ):
            given = (_SentTask(task, place) for task in chain([first], remaining))
            for start, (shard, data) in by_workers(given, connection, retries=self.retries):
                file = first.file.with_name(shard.file.name)
                # What it holds is compared with its checksums when it is appended to the store.
                if data is not None:
                    with replace_atomically(file, durable=False) as unfinished:
                        unfinished.write_bytes(data)
                appears(file)  # soon, where a file system shows news with a delay
                yield start, replace(shard, file=file)


@dataclass(frozen=True, eq=False)
class _SentTask:
    """A shard to be made by a worker, which may not see the cache of the driver."""

    task: ShardTask
    place: Path

    @property
    def start(self) -> int:
        """The first of its rows."""
        return self.task.start

    def __call__(self) -> tuple[Shard, bytes | None]:
        """The shard, one that a lost worker had finished as it is; and its bytes, where the worker
        does not see where they belong."""
        if sees(self.place):
            return finished_shard(self.task.file) or self.task(), None
        with tempfile.TemporaryDirectory(prefix="cellformer-") as folder:
            shard = replace(self.task, file=Path(folder) / self.task.file.name)()
            return shard, shard.file.read_bytes()
