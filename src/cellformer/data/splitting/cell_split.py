"""Splits within complexes: some cells of a complex train, others validate and test."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cellformer.data.complex_list import ComplexList
from cellformer.data.dataset import PARTS, GraphSet
from cellformer.data.splitting.splits import random_split


def split_cells(
    opened: GraphSet, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0
) -> GraphSet:
    """The set three times over, each with the targets of other cells, for one part of the split.

    The model sees all cells of a complex in every part, but the targets of that part alone
    (transductive learning), so one complex suffices. Raises ValueError unless the set consists of
    complexes whose cells have targets.
    """
    if opened.cell_offsets is None or not isinstance(opened.graphs, ComplexList):
        raise ValueError(f"{opened.name} has no complexes whose cells have targets")
    rows, cells = len(opened), len(opened.targets)
    chosen = random_split(cells, fractions, seed)
    targets = []
    for part in PARTS:
        own = np.full_like(opened.targets, np.nan)
        own[chosen[part]] = opened.targets[chosen[part]]
        targets.append(own)
    offsets = opened.cell_offsets
    graphs = ComplexList(opened.graphs.complexes * len(PARTS))
    return replace(
        opened,
        graphs=graphs,
        targets=np.concatenate(targets),
        split={part: np.arange(rows) + number * rows for number, part in enumerate(PARTS)},
        digest=graphs.digest(),
        cell_offsets=np.concatenate([offsets, offsets[1:] + cells, offsets[1:] + 2 * cells]),
    )
