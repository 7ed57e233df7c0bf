"""Several sets of graphs, one after the other."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from jaxtyping import Float32, Int64

from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import joined_bounds
from cellformer.data.dataset import GraphSequence, GraphSet, SmilesList, digest_of
from cellformer.data.texts import joined_texts


@dataclass(frozen=True, eq=False)
class JoinedGraphs:
    """The graphs of several sequences."""

    sequences: tuple[GraphSequence, ...]

    @property
    def ends(self) -> tuple[int, ...]:
        """The row after the last one of each sequence."""
        return tuple(accumulate(map(len, self.sequences)))

    def __len__(self) -> int:
        return self.ends[-1] if self.sequences else 0

    def graph(self, row: int) -> Graph:
        """The graph of a row; raises ValueError, saying why, if the row has none."""
        number = bisect_right(self.ends, row)
        return self.sequences[number].graph(row - (self.ends[number - 1] if number else 0))

    def part(self, start: int, stop: int) -> "JoinedGraphs":
        """The rows ``start:stop``."""
        begins = [0, *self.ends[:-1]]
        return JoinedGraphs(
            tuple(
                each.part(max(start - begin, 0), min(stop - begin, len(each)))
                for each, begin in zip(self.sequences, begins, strict=True)
                if start < begin + len(each) and stop > begin
            )
        )


def join(sets: Sequence[GraphSet]) -> GraphSet:
    """One set of the rows of all, named and judged like the first; their splits are dropped."""
    first = sets[0]
    graphs = [each.graphs for each in sets]
    lists = [each for each in graphs if isinstance(each, SmilesList)]
    joined: GraphSequence
    if len(lists) == len(graphs):
        if len({each.scheme for each in lists}) > 1:
            raise ValueError(f"{first.name}: the molecules of the files have different features")
        if len({each.descriptors for each in lists}) > 1:
            raise ValueError(f"{first.name}: the molecules of the files have different descriptors")
        smiles = joined_texts([each.smiles for each in lists])
        joined = SmilesList(smiles, lists[0].scheme, lists[0].descriptors)
        digest = joined.digest()
    else:
        joined = JoinedGraphs(tuple(graphs))
        digest = digest_of([each.digest for each in sets])
    starts = [0, *accumulate(map(len, graphs))][:-1]
    return GraphSet(
        first.name,
        joined,
        np.concatenate([each.targets for each in sets]),
        first.task_or_none,
        None,
        digest,
        _joined_offsets(sets),
        _joined_columns(sets),
        {start + row: reason for start, each in zip(starts, sets, strict=True)
         for row, reason in each.faults.items()},
        first.column_units,
        bounds=joined_bounds([each.bounds for each in sets], [*map(len, sets)]),
    )  # fmt: skip


def _joined_columns(sets: Sequence[GraphSet]) -> Float32[np.ndarray, "row column"] | None:
    columns = [each.columns for each in sets if each.columns is not None]
    if not columns:
        return None
    if len(columns) < len(sets):
        raise ValueError(f"{sets[0].name}: only some files have the columns of descriptors")
    return np.concatenate(columns)


def _joined_offsets(sets: Sequence[GraphSet]) -> Int64[np.ndarray, " row_plus_1"] | None:
    counts = [np.diff(each.cell_offsets) for each in sets if each.cell_offsets is not None]
    if not counts:
        return None
    if len(counts) < len(sets):
        raise ValueError(f"{sets[0].name}: some files have targets of cells, others of complexes")
    return np.concatenate([[0], np.cumsum(np.concatenate(counts))])
