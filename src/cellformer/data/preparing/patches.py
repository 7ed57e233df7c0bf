"""A set of large complexes as a set of their patches."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int64

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes, ranges
from cellformer.complexes.patches import Patch, Patches
from cellformer.data.complex_list import ComplexList
from cellformer.data.dataset import GraphSet
from cellformer.data.preparing.making import unmade
from cellformer.data.preparing.prepare import (
    NoComplexError,
    OverLimitRows,
    Prepared,
    beyond_limits,
    prepare,
    unequal,
)
from cellformer.data.preparing.shards import ShardExecutor
from cellformer.encodings.encode import Encoding
from cellformer.lifting.lift import Lifting, LiftingLimitError, lift


@dataclass(frozen=True, eq=False)
class PatchList:
    """The patches of some complexes, cut when asked for."""

    complexes: tuple[CellComplex, ...]
    patches: tuple[Patch, ...]
    places: tuple[int, ...]  # of the complex of each patch

    def __len__(self) -> int:
        return len(self.patches)

    def graph(self, row: int) -> Graph:
        """The vertices and edges of a patch, which remembers its other cells."""
        return Graph.of_complex(self._cut(row))

    def part(self, start: int, stop: int) -> ComplexList:
        """The patches ``start:stop``, without the rest of their complexes."""
        return ComplexList(tuple(self._cut(row) for row in range(start, min(stop, len(self)))))

    def _cut(self, row: int) -> CellComplex:
        return self.patches[row].of(self.complexes[self.places[row]])


@dataclass(frozen=True)
class CutFrom:
    """The lifting of graphs that are patches already, named by what made them."""

    lifting: Lifting
    patches: Patches

    def __call__(self, graph: Graph) -> CellComplex:
        """The cells that the graph brings."""
        assert graph.cells is not None
        return graph.cells


@dataclass(frozen=True, eq=False)
class CutSet:
    """A set whose rows are the patches of the rows of another."""

    source: GraphSet
    rows: Int64[np.ndarray, " patch"]  # of the other set, ascending
    patches: tuple[Patch, ...]
    failures: tuple[tuple[int, str], ...]  # rows of the other set that have no complex


def cut(
    source: GraphSet, lifting: Lifting, patches: Patches, over_limit: OverLimitRows = "fail"
) -> CutSet:
    """Lifts every graph and cuts its complex into patches.

    A target of a cell belongs to the patch whose own it is; there are none for the cells around
    these. A row without a valid graph is a failure, and with over_limit="skip" one over a limit of
    the lifting, which raises PreparationError otherwise. Raises ValueError where whole graphs have
    the targets, or a row has not one for each cell.
    """
    task = source.task_or_none
    if task is not None and task.rank is None:
        raise ValueError(
            f"{source.name} has targets of whole complexes, which cannot be learned from patches; "
            "leave data.patch_cells out"
        )
    complexes: list[CellComplex] = []
    made: dict[int, tuple[int, tuple[Patch, ...]]] = {}
    found: list[Patch] = []
    rows, places = [], []
    failures = dict(source.faults)
    for row in range(len(source)):
        if row in failures:
            continue
        try:
            graph = source.graph(row)
        except ValueError as error:
            failures[row] = str(error)
            continue
        try:
            cells = lift(graph, lifting)
        except LiftingLimitError as error:
            if over_limit == "fail":
                raise beyond_limits(source, row, str(error)) from None
            failures[row] = str(error)
            continue
        except Exception as error:
            raise unmade(graph, row, error) from error
        _check_targets(source, row, cells)
        if id(cells) not in made:  # a split of cells brings the same complex for each part
            made[id(cells)] = len(complexes), patches(cells)
            complexes.append(cells)
        place, own = made[id(cells)]
        found += own
        rows += [row] * len(own)
        places += [place] * len(own)
    targets, offsets = _targets_of(source, rows, found)
    of_patches = GraphSet(
        source.name,
        PatchList(tuple(complexes), tuple(found), tuple(places)),
        targets,
        task,
        None,
        source.digest,
        offsets,
        None if source.columns is None else source.columns[rows],
    )
    numbers = np.array(rows, np.int64)
    return CutSet(of_patches, numbers, tuple(found), tuple(sorted(failures.items())))


def prepare_patches(
    source: GraphSet,
    lifting: Lifting,
    encodings: Sequence[Encoding],
    patches: Patches,
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    workers: int = 0,
    over_limit: OverLimitRows = "fail",
    executor: ShardExecutor | None = None,
) -> Prepared:
    """`prepare` of the patches of all rows, of which the result tells the rows.

    An encoding is that of a patch, so the halo has to reach as far as it does. Lifting and cutting
    are not stored; they take seconds for a million cells. Raises as `cut` and `prepare` do.
    """
    found = cut(source, lifting, patches, over_limit)
    if not len(found.source):
        row, reason = found.failures[0] if found.failures else (0, "there are no rows")
        raise NoComplexError(
            f"{source.name}: none of {len(source)} rows can be used; row {row}: {reason}",
            found.failures,
        )
    stored = prepare(
        found.source,
        CutFrom(lifting, patches),
        encodings,
        cache_dir=cache_dir,
        workers=workers,
        over_limit=over_limit,
        executor=executor,
    )
    failed = {int(found.rows[patch]): reason for patch, reason in stored.failures}
    return replace(
        stored,
        rows=found.rows[stored.rows],
        failures=tuple(sorted((dict(found.failures) | failed).items())),
        patches=tuple(found.patches[patch] for patch in stored.rows.tolist()),
    )


def _check_targets(source: GraphSet, row: int, cells: CellComplex) -> None:
    if source.cell_offsets is None or source.task.rank is None:
        return
    rank = source.task.rank
    count = cells.num_cells[rank] if rank <= cells.dim else 0
    targets = int(source.cell_offsets[row + 1] - source.cell_offsets[row])
    if count != targets:
        raise ValueError(unequal(source, row, rank, count, targets))


def _targets_of(
    source: GraphSet, rows: Sequence[int], patches: Sequence[Patch]
) -> tuple[Float[np.ndarray, "cell target"], Int64[np.ndarray, " patch_plus_1"] | None]:
    """Those of all cells of the patches, and where each patch begins."""
    if source.cell_offsets is None or source.task.rank is None:
        return np.zeros((len(patches), 0), np.float32), None
    rank = source.task.rank
    targets = [source.targets[:0]]
    for row, patch in zip(rows, patches, strict=True):
        own = source.targets[source.cell_offsets[row] + patch.chosen[rank]]
        own[~patch.own[rank]] = np.nan
        targets.append(own)
    return np.concatenate(targets), np.cumsum([len(own) for own in targets])


def numbers_of_cells(
    complexes: RaggedComplexes,
    chosen: Int64[np.ndarray, " chosen"],
    rank: int,
    patches: Sequence[Patch] | None,
) -> tuple[Int64[np.ndarray, " cell"], Bool[np.ndarray, " cell"]]:
    """For all cells of a rank of some complexes, one after the other: its number, and whether.

    That is, the number that it has in the complex of its row, and whether it counts: where the
    complexes are ``patches``, one for each, a cell counts in the patch whose own it is.
    """
    if patches is None:
        counts = complexes.num_cells[chosen, rank]
        numbers = ranges(np.zeros_like(counts), counts)[0]
        return numbers, np.ones(len(numbers), bool)
    none = Patch((np.zeros(0, np.int64),) * (rank + 1), (np.zeros(0, bool),) * (rank + 1))
    some = [none, *(patches[number] for number in chosen.tolist())]
    return (
        np.concatenate([patch.chosen[rank] for patch in some]),
        np.concatenate([patch.own[rank] for patch in some]),
    )
