"""One stretch of rows, lifted, encoded and stored: the unit of parallel and resumed work."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from cellformer.basics.files import replace_atomically
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.store import StoreError, open_ragged, save_ragged
from cellformer.data.dataset import GraphSequence, RaggedGraphSequence, descriptors_of
from cellformer.data.flat import FlatGraphs
from cellformer.encodings.encode import Encoding, encode, encode_many
from cellformer.lifting.lift import CollectiveLifting, Lifting, LiftingLimitError, lift

SHARD_ROWS = 256


@dataclass(frozen=True)
class Failure:
    """A row without a complex."""

    row: int
    reason: str
    over_limit: bool  # the graph is valid, but the lifting gave up


Made: TypeAlias = tuple[RaggedComplexes | None, list[Failure]]


class PreparationError(ValueError):
    """A graph that cannot be lifted or encoded; ``row`` is its place in the source, from 0."""

    def __init__(self, message: str, row: int):
        super().__init__(message, row)
        self.message = message
        self.row = row

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Shard:
    """The finished rows ``start:stop``; its store is absent where all rows failed."""

    folder: Path
    failures: tuple[Failure, ...]
    complexes: int


def prepare_shard(
    graphs: GraphSequence,
    start: int,
    lifting: Lifting,
    encodings: Sequence[Encoding],
    folder: Path,
) -> Shard:
    """Lifts, encodes and stores ``graphs``, the rows of the source from ``start`` on.

    A row without a valid graph, or over the lifting's limit, is a failure. Raises
    PreparationError at any other error.
    """
    made: Made | None = None
    if isinstance(lifting, CollectiveLifting):
        # One by one it is seen which row is at fault, and the others are kept.
        with suppress(Exception):
            made = _together(graphs, start, lifting, encodings)
    complexes, failures = made or _one_by_one(graphs, start, lifting, encodings)
    if complexes is not None:
        failed = [failure.row - start for failure in failures]
        present = np.setdiff1d(np.arange(len(graphs)), failed)
        described = descriptors_of(graphs, present)
        complexes = complexes if described is None else replace(complexes, descriptors=described)
    shutil.rmtree(folder, ignore_errors=True)  # of an interrupted attempt
    count = 0 if complexes is None else len(complexes)
    if complexes is not None:
        save_ragged(complexes, folder)
    record = {
        "complexes": count,
        "failures": [[f.row, f.reason, f.over_limit] for f in failures],
    }
    with replace_atomically(_record(folder)) as unfinished:
        unfinished.write_text(json.dumps(record), encoding="utf-8")
    return Shard(folder, tuple(failures), count)


def _together(
    graphs: GraphSequence, start: int, lifting: CollectiveLifting, encodings: Sequence[Encoding]
) -> Made:
    """All rows at once; raises whatever one of them raises."""
    failures: list[Failure] = []
    if isinstance(graphs, RaggedGraphSequence):
        ragged = graphs.ragged()
    else:
        valid: list[Graph] = []
        for index in range(len(graphs)):
            try:
                valid.append(graphs.graph(index))
            except ValueError as error:
                failures.append(Failure(start + index, str(error), over_limit=False))
        if any(graph.cells is not None for graph in valid):
            raise ValueError("cells that graphs bring themselves do not lie in flat arrays")
        ragged = FlatGraphs.from_graphs(valid, "graphs").ragged()
    if not len(ragged):
        return None, failures
    return encode_many(lifting.many(ragged), encodings), failures


def _one_by_one(
    graphs: GraphSequence, start: int, lifting: Lifting, encodings: Sequence[Encoding]
) -> Made:
    complexes: list[CellComplex] = []
    failures: list[Failure] = []
    for index in range(len(graphs)):
        row = start + index
        try:
            graph = graphs.graph(index)
        except ValueError as error:
            failures.append(Failure(row, str(error), over_limit=False))
            continue
        try:
            complexes.append(encode(lift(graph, lifting), encodings))
        except LiftingLimitError as error:
            failures.append(Failure(row, str(error), over_limit=True))
        except Exception as error:
            raise PreparationError(
                f"row {row} (counted from 0), graph {graph.name!r} with {graph.num_vertices} "
                f"vertices and {graph.num_edges} edges: {type(error).__name__}: {error}",
                row,
            ) from error
    return RaggedComplexes.from_complexes(complexes) if complexes else None, failures


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
    """A shard that an earlier attempt finished; None if it has to be made."""
    try:
        record = json.loads(_record(folder).read_text(encoding="utf-8"))
        shard = Shard(
            folder,
            tuple(Failure(row, reason, over) for row, reason, over in record["failures"]),
            record["complexes"],
        )
        if shard.complexes:
            open_ragged(folder)
    except (OSError, StoreError, ValueError, KeyError, TypeError):
        return None
    return shard


def _record(folder: Path) -> Path:
    return folder.with_suffix(".json")
