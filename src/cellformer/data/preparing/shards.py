"""One stretch of rows, lifted, encoded and stored: the unit of parallel and resumed work."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from cellformer.basics.archives import read_arrays
from cellformer.basics.causes import raise_of_process
from cellformer.basics.files import replace_atomically
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.store import complexes_of
from cellformer.complexes.many.writing import arrays_of
from cellformer.data.dataset import GraphSequence
from cellformer.data.preparing.making import Failure, failure_of, make
from cellformer.encodings.encode import Encoding
from cellformer.lifting.lift import Lifting

logger = logging.getLogger(__name__)

SHARD_ROWS = 256
"""Rows of each of the first shards, so that a small set is shared by many processes."""
LARGE_ROWS = 2048
"""Rows of each of the others, some seconds of work: what a worker loses that is killed."""
SMALL_SHARDS = 512
"""How many are small. Where a shard begins does not depend on how many rows come after it."""
RECORD = "record"
"""Among the arrays of a shard, the text of what is told of it."""
SLOW = "slow"  # the file beside the shards that says that the log has been told


@dataclass(frozen=True)
class Shard:
    """Finished rows; there are no complexes where all failed."""

    file: Path
    failures: tuple[Failure, ...]
    complexes: int
    slow: str | None = None
    """Why the rows were taken one by one although the lifting takes many at once."""


@dataclass(frozen=True)
class SlowParts:
    """How many shards were made one by one although the lifting takes many graphs at once."""

    count: int
    of: int
    cause: str  # of the first one

    def __str__(self) -> str:
        return f"{self.count} of {self.of} parts were prepared one by one: {self.cause}"


def shard_bounds(rows: int) -> Iterator[tuple[int, int]]:
    """Where each shard of so many rows begins and ends."""
    start = number = 0
    while start < rows:
        stop = min(start + (SHARD_ROWS if number < SMALL_SHARDS else LARGE_ROWS), rows)
        yield start, stop
        start, number = stop, number + 1


def prepare_shard(
    graphs: GraphSequence,
    start: int,
    lifting: Lifting,
    encodings: Sequence[Encoding],
    file: Path,
) -> Shard:
    """Lifts, encodes and stores ``graphs``, the rows of the source from ``start`` on.

    Rows fail as `make` says, which also says what is raised. What the log is told of a slow way is
    told once for all shards of a preparation, by whoever meets it first.
    """

    def tell(cause: str) -> None:
        try:
            (file.parent / SLOW).open("x").close()
        except FileExistsError:
            return
        logger.warning(
            "rows %d to %d could not be prepared all at once, so they are taken one by one: %s",
            start,
            start + len(graphs) - 1,
            cause,
        )

    file.parent.mkdir(parents=True, exist_ok=True)
    made = make(graphs, start, lifting, encodings, tell)
    shard = Shard(
        file, made.failures, 0 if made.complexes is None else len(made.complexes), made.slow
    )
    arrays = {} if made.complexes is None else arrays_of(made.complexes)
    told = [failure.told() for failure in shard.failures]
    text = json.dumps([shard.complexes, told, shard.slow])
    record = np.frombuffer(text.encode(), np.uint8)
    with (
        replace_atomically(file, durable=False) as unfinished,
        unfinished.open("wb") as stream,
    ):
        np.savez(stream, allow_pickle=False, **arrays, **{RECORD: record})
    return shard


@dataclass(frozen=True, eq=False)
class ShardTask:
    """A shard to be made, anywhere that sees its file; making it again is harmless."""

    graphs: GraphSequence
    start: int
    lifting: Lifting
    encodings: tuple[Encoding, ...]
    file: Path

    def __call__(self) -> Shard:
        """Raises as `prepare_shard` does."""
        return prepare_shard(self.graphs, self.start, self.lifting, self.encodings, self.file)


ShardExecutor: TypeAlias = Callable[[Iterable[ShardTask]], Iterator[tuple[int, Shard]]]
"""Makes shards somewhere and gives each, with its first row, as it becomes ready, in any order.

Tasks hold graphs, so few are taken at a time. What a task raises is raised."""


def read_shard(file: Path) -> tuple[Shard, RaggedComplexes | None]:
    """A shard and its complexes, compared with the checksums of the archive.

    Raises FileNotFoundError, and ValueError, naming the file, where it is damaged.
    """
    arrays = read_arrays(file)
    try:
        complexes, failures, slow = json.loads(arrays.pop(RECORD).tobytes())
        shard = Shard(file, tuple(failure_of(each) for each in failures), complexes, slow)
        ranks = sum(name.endswith("_faces") for name in arrays)
        found = complexes_of(arrays, ranks) if complexes else None
        if found is not None and len(found) != complexes:
            raise ValueError(f"it counts {complexes} complexes and holds {len(found)}")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is damaged ({error})") from None
    return shard, found


def finished_shard(file: Path) -> Shard | None:
    """A shard that an earlier attempt finished; None, told in the log if it is a damaged one, if it
    has to be made.
    """
    try:
        return read_shard(file)[0]
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise_of_process(error)
        logger.warning("%s; it is made again", error)
        return None
