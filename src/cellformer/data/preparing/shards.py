"""One stretch of rows, lifted, encoded and stored: the unit of parallel and resumed work."""

import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from cellformer.basics.causes import raise_of_process
from cellformer.basics.files import replace_atomically
from cellformer.basics.sealed import FaultError, read_sealed, sealed
from cellformer.complexes.many.store import open_ragged, save_ragged
from cellformer.data.dataset import GraphSequence
from cellformer.data.preparing.making import Failure, failure_of, make
from cellformer.encodings.encode import Encoding
from cellformer.lifting.lift import Lifting

logger = logging.getLogger(__name__)

SHARD_ROWS = 256
SLOW = "slow"  # the file beside the shards that says that the log has been told


@dataclass(frozen=True)
class Shard:
    """The finished rows ``start:stop``; its store is absent where all rows failed."""

    folder: Path
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


def slow_parts(shards: Sequence[Shard]) -> SlowParts | None:
    """Those of some shards; None where there are none."""
    causes = [shard.slow for shard in shards if shard.slow is not None]
    return SlowParts(len(causes), len(shards), causes[0]) if causes else None


def prepare_shard(
    graphs: GraphSequence,
    start: int,
    lifting: Lifting,
    encodings: Sequence[Encoding],
    folder: Path,
) -> Shard:
    """Lifts, encodes and stores ``graphs``, the rows of the source from ``start`` on.

    Rows fail as `make` says, which also says what is raised. What the log is told of a slow way is
    told once for all shards of a preparation, by whoever meets it first.
    """

    def tell(cause: str) -> None:
        try:
            (folder.parent / SLOW).open("x").close()
        except FileExistsError:
            return
        logger.warning(
            "rows %d to %d could not be prepared all at once, so they are taken one by one: %s",
            start,
            start + len(graphs) - 1,
            cause,
        )

    folder.parent.mkdir(parents=True, exist_ok=True)
    made = make(graphs, start, lifting, encodings, tell)
    shutil.rmtree(folder, ignore_errors=True)  # of an interrupted attempt
    count = 0 if made.complexes is None else len(made.complexes)
    if made.complexes is not None:
        save_ragged(made.complexes, folder)
    record = {
        "complexes": count,
        "failures": [[f.row, f.reason, f.over_limit] for f in made.failures],
        "slow": made.slow,
    }
    with replace_atomically(_record(folder), durable=False) as unfinished:
        unfinished.write_text(json.dumps(sealed(record)), encoding="utf-8")
    return Shard(folder, made.failures, count, made.slow)


@dataclass(frozen=True, eq=False)
class ShardTask:
    """A shard to be made, anywhere that sees its folder; making it again is harmless."""

    graphs: GraphSequence
    start: int
    lifting: Lifting
    encodings: tuple[Encoding, ...]
    folder: Path

    def __call__(self) -> Shard:
        """Raises as `prepare_shard` does."""
        return prepare_shard(self.graphs, self.start, self.lifting, self.encodings, self.folder)


ShardExecutor: TypeAlias = Callable[[Iterable[ShardTask]], Iterator[tuple[int, Shard]]]
"""Makes shards somewhere and gives each, with its first row, as it becomes ready, in any order.

Tasks hold graphs, so few are taken at a time. What a task raises is raised."""


def finished_shard(folder: Path) -> Shard | None:
    """A shard that an earlier attempt finished; None, told in the log if it is a damaged one, if it
    has to be made.
    """
    file = _record(folder)
    if not file.exists():
        return None
    try:
        record = read_sealed(file)
        shard = Shard(
            folder,
            tuple(failure_of(each) for each in record["failures"]),
            record["complexes"],
            record["slow"],
        )
        if shard.complexes and len(open_ragged(folder)[0]) != shard.complexes:
            raise ValueError(f"{file} counts {shard.complexes} complexes, {folder} has others")
    except FaultError as error:
        logger.warning("%s; it is made again", error.fault)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise_of_process(error)
        logger.warning("%s is damaged (%r); it is made again", file, error)
    else:
        return shard
    return None


def _record(folder: Path) -> Path:
    return folder.with_suffix(".json")
