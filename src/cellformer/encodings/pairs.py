"""What is known of two cells together: how they touch, and how a walk gets from one to the other.

*Not in the paper*, whose attention knows N alone of a pair.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float16, Float32, Int64

from cellformer.complexes.matrices import (
    Bounded,
    Matrix,
    down_adjacency,
    down_laplacian,
    up_adjacency,
    up_laplacian,
)
from cellformer.encodings.barycentric import barycentric_walk
from cellformer.encodings.numerics.walks import transition_probabilities

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
) -> list[Float16[np.ndarray, "_ _"]]:
    """`pair_columns` numbers for each pair, in the order of the groups.

    The first ones are `TOUCHING`: the entry of N; 1 for a cell and itself; 1 / (1 + d), where d is
    the number of steps from one to the other in the barycentric subdivision's 1-skeleton, and 0
    where it is more than ``steps``. Of cells of the same rank also how many cofaces and how many
    faces they have in common; how many remain of both where those on which their orientations
    agree count against those on which they do not; and the product of the two signed numbers. All
    these stay the same when any cell is reversed. Then the square roots, which spread small
    numbers, of the probabilities that a walk on that skeleton gets from the second cell to the
    first in 1 ... ``steps`` steps. In half precision, so that they can be kept.

    Raises ValueError if ``steps`` is less than 1.
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    begins = np.cumsum([0, *cells.num_cells])
    placed = [(_placed(g.receivers, g.rows, begins), _placed(g.senders, g.columns, begins))
              for g in groups]  # fmt: skip
    walks = transition_probabilities(
        barycentric_walk(cells),
        steps,
        np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in placed)]),
        np.concatenate([np.zeros(0, np.int64), *(columns for _, columns in placed)]),
    )
    ends = itertools.pairwise(np.cumsum([0, *(len(rows) for rows, _ in placed)]).tolist())
    return [
        _described(cells, group, *pairs, walks[start:stop])
        for group, pairs, (start, stop) in zip(groups, placed, ends, strict=True)
    ]


def _described(
    cells: Bounded,
    group: CellPairs,
    rows: Int64[np.ndarray, " pair"],
    columns: Int64[np.ndarray, " pair"],
    walk: Float32[np.ndarray, "pair step"],
) -> Float16[np.ndarray, "pair column"]:
    features = np.zeros((len(rows), pair_columns(walk.shape[1])), np.float32)
    same = rows == columns
    reached = walk > 0
    distance = np.where(reached.any(axis=1), 1 + reached.argmax(axis=1), np.inf)
    features[:, 0] = group.entries
    features[:, 1] = same
    features[:, 2] = np.where(same, 1, 1 / (1 + distance))
    begins = np.cumsum([0, *cells.num_cells])
    for rank, matrices in _of_one_rank(cells, group):
        here = (rows >= begins[rank]) & (rows < begins[rank + 1])
        here &= (columns >= begins[rank]) & (columns < begins[rank + 1])
        if not here.any():
            continue
        own_rows, own_columns = rows[here] - begins[rank], columns[here] - begins[rank]
        entries = [entries_at(matrix, own_rows, own_columns) for matrix in matrices]
        signed = entries[2:]
        # Adjacency leaves out what a cell has in common with itself.
        counted = [
            np.where(same[here], own, other) for own, other in zip(signed, entries[:2], strict=True)
        ]
        features[here, 3:8] = np.stack(
            [*counted, *map(np.abs, signed), signed[0] * signed[1]], axis=1
        )
    features[:, len(TOUCHING) :] = np.sqrt(walk)
    return np.minimum(features, np.finfo(np.float16).max).astype(np.float16)


def _of_one_rank(cells: Bounded, group: CellPairs) -> Iterator[tuple[int, tuple[Matrix, ...]]]:
    """Of each rank that is on both sides: common cofaces and faces, counted, then by sign."""
    for rank in set(group.receivers) & set(group.senders):
        yield (
            rank,
            (
                up_adjacency(cells, rank),
                down_adjacency(cells, rank),
                up_laplacian(cells, rank),
                down_laplacian(cells, rank),
            ),
        )


def entries_at(
    matrix: Matrix, rows: Int64[np.ndarray, " pair"], columns: Int64[np.ndarray, " pair"]
) -> Float32[np.ndarray, " pair"]:
    """The entries of a sparse matrix with sorted indices at these places, 0 where none is."""
    width = np.int64(matrix.shape[1])
    stored = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    keys = stored * width + matrix.indices
    wanted = rows * width + columns
    found = np.zeros(len(wanted), np.float32)
    if len(keys):
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there = keys[places] == wanted
        found[there] = matrix.data[places[there]]
    return found


def _placed(
    ranks: tuple[int, ...], numbers: Int64[np.ndarray, " cell"], begins: Int64[np.ndarray, " rank"]
) -> Int64[np.ndarray, " cell"]:
    """Numbers among the cells of some ranks, as numbers among the cells of all."""
    counts = np.diff(begins)[list(ranks)]
    own = np.cumsum([0, *counts])
    block = np.searchsorted(own, numbers, side="right") - 1
    placed: Int64[np.ndarray, " cell"] = numbers + (begins[list(ranks)] - own[:-1])[block]
    return placed
