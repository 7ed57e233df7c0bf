"""From shards, as they become ready, to one store that grows."""

import json
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cellformer.basics.causes import raise_of_process
from cellformer.basics.progress import progress
from cellformer.complexes.many.growing import GrowingStore
from cellformer.data.dataset import GraphSet
from cellformer.data.preparing.making import Failure, failure_of
from cellformer.data.preparing.shards import (
    SLOW,
    Shard,
    ShardExecutor,
    ShardTask,
    SlowParts,
    finished_shard,
    read_shard,
    shard_bounds,
)
from cellformer.encodings.encode import Encoding
from cellformer.lifting.lift import Lifting

logger = logging.getLogger(__name__)

STORE = "store"
"""In the folder of the shards, the store that they are appended to."""


@dataclass(frozen=True, eq=False)
class Assembled:
    """A store with all rows that have a complex, still to be finished."""

    store: GrowingStore
    failures: tuple[Failure, ...]
    """Rows without a complex, in their order."""
    slow: SlowParts | None


@dataclass(frozen=True, eq=False)
class Assembly:
    """Which rows are to be made, how, and in which folder.

    There, the file of a shard lies for as long as one before it is not ready: shards are appended
    to the store in the order of their rows, and removed. So the disk holds little more than the
    store, and an attempt that is killed leaves what the next one begins with, to the same bytes.
    """

    source: GraphSet
    lifting: Lifting
    encodings: tuple[Encoding, ...]
    folder: Path

    def assembled(
        self, executor: ShardExecutor, check: Callable[[Sequence[Failure]], None], shown: bool
    ) -> Assembled:
        """Has the executor make what is missing; raises what it and ``check`` raise.

        ``check`` is given failures as soon as they are known.
        """
        rows = len(self.source)
        bounds = dict(shard_bounds(rows))
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / SLOW).unlink(missing_ok=True)  # of an attempt that was interrupted
        store = GrowingStore(self.folder / STORE)
        for note in store.notes:
            check(_told(note)[0])
        coming = list(bounds)[len(store.notes) :]
        following = deque(coming)
        ready: dict[int, Shard] = {}
        for start in coming:
            shard = finished_shard(self.file(start))
            if shard is not None:
                check(shard.failures)
                ready[start] = shard
        missing = [start for start in coming if start not in ready]
        left = sum(bounds[start] - start for start in missing)
        if left < rows:
            logger.info("%d of %d rows are prepared already", rows - left, rows)
        self._append(store, following, ready, bounds)
        with progress(f"Preparing {self.source.name}", left, shown) as done:
            tasks = (self.task(start, bounds[start]) for start in missing)
            for start, shard in executor(tasks) if missing else ():
                check(shard.failures)
                ready[start] = shard
                self._append(store, following, ready, bounds)
                done(bounds[start] - start)
        told = [_told(note) for note in store.notes]
        causes = [slow for _, slow in told if slow is not None]
        return Assembled(
            store,
            tuple(failure for failures, _ in told for failure in failures),
            SlowParts(len(causes), len(told), causes[0]) if causes else None,
        )

    def _append(
        self,
        store: GrowingStore,
        following: deque[int],
        ready: dict[int, Shard],
        bounds: Mapping[int, int],
    ) -> None:
        """Those shards that are ready and follow what is in the store."""
        while following and following[0] in ready:
            start = following.popleft()
            del ready[start]
            file = self.file(start)
            try:
                shard, complexes = read_shard(file)
            except (OSError, ValueError) as error:
                raise_of_process(error)
                logger.warning("%s; it is made again", error)
                self.task(start, bounds[start])()
                shard, complexes = read_shard(file)
            told = [failure.told() for failure in shard.failures]
            store.append(complexes, json.dumps([told, shard.slow]))
            file.unlink()

    def task(self, start: int, stop: int) -> ShardTask:
        """The making of some rows."""
        return ShardTask(
            self.source.graphs.part(start, stop), start, self.lifting, self.encodings,
            self.file(start),
        )  # fmt: skip

    def file(self, start: int) -> Path:
        """Of the shard that begins with a row."""
        return self.folder / f"rows-{start:09d}.npz"


def _told(note: str) -> tuple[list[Failure], str | None]:
    """What a part of a store remembers of its shard."""
    failures, slow = json.loads(note)
    return [failure_of(each) for each in failures], slow
