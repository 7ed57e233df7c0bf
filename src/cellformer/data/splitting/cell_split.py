"""Splits within complexes: some cells of a complex train, others validate and test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from cellformer.complexes.graph import Graph
from cellformer.data.complex_list import ComplexList
from cellformer.data.dataset import PARTS, GraphSequence, GraphSet, SmilesList, digest_of
from cellformer.data.splitting.splits import random_split


@dataclass(frozen=True, eq=False)
class ChosenGraphs:
    """Some of the graphs of a sequence, any of them several times."""

    graphs: GraphSequence
    rows: Int64[np.ndarray, " chosen"]

    def __len__(self) -> int:
        return len(self.rows)

    def graph(self, row: int) -> Graph:
        """The graph of a row; raises ValueError, saying why, if the row has none."""
        return self.graphs.graph(int(self.rows[row]))

    def part(self, start: int, stop: int) -> "ChosenGraphs":
        """The rows ``start:stop``."""
        return ChosenGraphs(self.graphs, self.rows[start:stop])


def split_cells(
    opened: GraphSet, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0
) -> GraphSet:
    """The set three times over, each with the targets of other cells, for one part of the split.

    The model sees all cells of a complex in every part, but the targets of that part alone
    (transductive learning), so one complex suffices. Raises ValueError unless the set consists of
    graphs or complexes whose cells have targets.
    """
    return split_cells_as(opened, random_split(len(opened.targets), fractions, seed))


def split_cells_as(opened: GraphSet, chosen: Mapping[str, NDArray[np.int64]]) -> GraphSet:
    """`split_cells` with given rows of targets in each part; the targets of others are left out."""
    if opened.cell_offsets is None or isinstance(opened.graphs, SmilesList):
        raise ValueError(f"{opened.name} has no graphs or complexes whose cells have targets")
    rows, cells = len(opened), len(opened.targets)
    targets = []
    for part in PARTS:
        own = np.full_like(opened.targets, np.nan)
        own[chosen[part]] = opened.targets[chosen[part]]
        targets.append(own)
    offsets = opened.cell_offsets
    graphs: GraphSequence
    if isinstance(opened.graphs, ComplexList):
        graphs = ComplexList(opened.graphs.complexes * len(PARTS))
        digest = graphs.digest()
    else:
        graphs = ChosenGraphs(opened.graphs, np.tile(np.arange(rows), len(PARTS)))
        digest = digest_of([opened.digest] * len(PARTS))
    return replace(
        opened,
        graphs=graphs,
        targets=np.concatenate(targets),
        split={part: np.arange(rows) + number * rows for number, part in enumerate(PARTS)},
        digest=digest,
        cell_offsets=np.concatenate([offsets, offsets[1:] + cells, offsets[1:] + 2 * cells]),
        cell_split=None,
    )
