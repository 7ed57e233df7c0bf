"""What is known of two cells together: how they touch, and how a walk gets from one to the other.

*Not in the paper*, whose attention knows N alone of a pair.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64
from scipy import sparse

from cellformer.complexes.matrices import Bounded
from cellformer.encodings.barycentric import barycentric_walk
from cellformer.encodings.numerics.touching import COMMON, Incidences, common_and_walks

TOUCHING = (
    "entry of N",
    "same cell",
    "nearness",
    "common cofaces",
    "common faces",
    "common cofaces by sign",
    "common faces by sign",
    "agreement of signs",
)
"""The columns before those of the walk, as `pair_features` explains them."""


def pair_columns(steps: int) -> int:
    """The number of columns of `pair_features`."""
    return len(TOUCHING) + steps


@dataclass(frozen=True, eq=False)
class CellPairs:
    """Pairs of cells of some ranks: their numbers, counted rank after rank, and the entries of N.

    Args:
        receivers: The ranks of the first cells, ascending.
        senders: The ranks of the second cells, ascending.
        rows: The first cell of each pair.
        columns: The second cell of each pair.
        entries: Of the neighborhood, 0 where it stores none.
    """

    receivers: tuple[int, ...]
    senders: tuple[int, ...]
    rows: Int64[np.ndarray, " pair"]
    columns: Int64[np.ndarray, " pair"]
    entries: Float32[np.ndarray, " pair"]


def pair_features(
    cells: Bounded, groups: Sequence[CellPairs], steps: int
) -> list[Float32[np.ndarray, "_ _"]]:
    """`pair_columns` numbers for each pair, in the order of the groups.

    The first ones are `TOUCHING`: the entry of N; 1 for a cell and itself; 1 / (1 + d), where d is
    the number of steps from one to the other in the barycentric subdivision's 1-skeleton, and 0
    where it is more than ``steps``. Of cells of the same rank also how many cofaces and how many
    faces they have in common; how many remain of both where those on which their orientations
    agree count against those on which they do not; and the product of the two signed numbers. All
    these stay the same when any cell is reversed. Then the square roots, which spread small
    numbers, of the probabilities that a walk on that skeleton gets from the second cell to the
    first in 1 ... ``steps`` steps.

    Raises ValueError if ``steps`` is less than 1.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    begins = np.cumsum([0, *cells.num_cells])
    none = np.zeros(0, np.int64)
    rows = [_placed(group.receivers, group.rows, begins) for group in groups]
    columns = [_placed(group.senders, group.columns, begins) for group in groups]
    joined_rows, joined_columns = np.concatenate([none, *rows]), np.concatenate([none, *columns])
    found = common_and_walks(
        _incidences(cells), barycentric_walk(cells), steps, joined_rows, joined_columns
    )
    features = np.empty((len(found), pair_columns(steps)), np.float32)
    features[:, 0] = np.concatenate([none, *(group.entries for group in groups)])
    features[:, 1] = joined_rows == joined_columns
    features[:, 2] = _nearness(found[:, COMMON:], features[:, 1])
    features[:, 3:5] = found[:, :2]
    np.abs(found[:, 2:4], out=features[:, 5:7])
    np.multiply(found[:, 2], found[:, 3], out=features[:, 7])
    np.sqrt(found[:, COMMON:], out=features[:, len(TOUCHING) :])
    ends = itertools.pairwise(np.cumsum([0, *map(len, rows)]).tolist())
    return [features[start:stop] for start, stop in ends]


def _nearness(
    walk: Float32[np.ndarray, "pair step"], same: Float32[np.ndarray, " pair"]
) -> Float32[np.ndarray, " pair"]:
    """1 / (1 + d) for pairs d steps apart, 0 for those that no walk joins."""
    nearness = same.copy()
    for step in reversed(range(walk.shape[1])):
        nearness[(walk[:, step] > 0) & (same == 0)] = 1 / (2 + step)
    return nearness


def _incidences(cells: Bounded) -> Incidences:
    """Those of all ranks, in the numbers of `pair_features`."""
    begins = np.cumsum([0, *cells.num_cells])
    counts, faces, signs = [np.zeros(1 + cells.num_cells[0], np.int64)], [], []
    for rank in range(1, cells.dim + 1):
        boundary = cells.boundary(rank)
        counts.append(np.diff(boundary.indptr))
        faces.append(boundary.indices + begins[rank - 1])
        signs.append(boundary.data)
    none = np.zeros(0, np.int64)
    of_cells = sparse.csr_array(
        (
            np.concatenate([none, *signs]).astype(np.int64),
            np.concatenate([none, *faces]).astype(np.int64),
            np.concatenate(counts).cumsum(),
        ),
        shape=(begins[-1], begins[-1]),
    )
    return Incidences(of_cells, of_cells.T.tocsr())


def _placed(
    ranks: tuple[int, ...], numbers: Int64[np.ndarray, " cell"], begins: Int64[np.ndarray, " rank"]
) -> Int64[np.ndarray, " cell"]:
    """Numbers among the cells of some ranks, as numbers among the cells of all."""
    counts = np.diff(begins)[list(ranks)]
    own = np.cumsum([0, *counts])
    block = np.searchsorted(own, numbers, side="right") - 1
    placed: Int64[np.ndarray, " cell"] = numbers + (begins[list(ranks)] - own[:-1])[block]
    return placed
