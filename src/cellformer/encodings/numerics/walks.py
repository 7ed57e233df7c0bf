"""Return probabilities of a random walk."""

from typing import no_type_check

import numpy as np
from jaxtyping import Float64, Int64
from numba import njit
from numpy.typing import NDArray

from cellformer.complexes.many.union import diagonal_block
from cellformer.complexes.matrices import Matrix

_DENSE = 1 / 8  # share of entries from which on matrix products are faster
_DENSE_CELLS = 64, 2000


def return_probabilities(
    walk: Matrix, steps: int, offsets: Int64[np.ndarray, " block_plus_1"] | None = None
) -> Float64[np.ndarray, "cell step"]:
    """The diagonals of the powers 1 ... steps of a walk's matrix, whose columns sum to 1.

    Half of the powers are enough: row i of ``M^a`` and column i of ``M^b`` give the entry i of the
    diagonal of ``M^(a + b)``. Both are followed from each cell as far as they reach, so memory is
    linear in the cells and neighbors, and the blocks of a block-diagonal matrix stay apart. Where
    its blocks ``offsets[i]:offsets[i + 1]`` are told, small ones with many entries are multiplied
    as arrays.
    """
    ends = np.array([0, walk.shape[0]]) if offsets is None else offsets
    sizes, entries = np.diff(ends), np.diff(walk.indptr[ends])
    low, high = _DENSE_CELLS
    dense = (sizes >= low) & (sizes <= high) & (entries > _DENSE * sizes.astype(np.float64) ** 2)
    back = walk.T.tocsr()
    probabilities: NDArray[np.float64] = _diagonals(
        walk.indptr, walk.indices, walk.data, back.indptr, back.indices, back.data, steps,
        np.repeat(~dense, sizes),
    )  # fmt: skip
    for block in np.flatnonzero(dense).tolist():
        rows = slice(*ends[block : block + 2].tolist())
        array = diagonal_block(walk, rows)
        probabilities[rows] = _by_products(array.toarray(), steps)
    return probabilities


def _by_products(walk: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    probabilities = np.empty((len(walk), steps))
    probabilities[:, 0] = walk.diagonal()
    power = walk
    for step in range(2, steps + 1, 2):
        probabilities[:, step - 1] = np.einsum("ij,ji->i", power, power)
        if step < steps:
            following = power @ walk
            probabilities[:, step] = np.einsum("ij,ji->i", power, following)
            power = following
    return probabilities


@njit(cache=True)
@no_type_check
def _diagonals(starts, columns, entries, back_starts, back_columns, back_entries, steps, chosen):
    n = len(starts) - 1
    diagonals = np.zeros((n, steps))
    rows = np.zeros((3, n))  # a row and a column of a power, and room for the next
    cells = np.empty((3, n), np.int32)  # where they are not zero
    counts = np.zeros(3, np.int64)
    away, home, spare = 0, 1, 2
    for cell in range(n):
        if not chosen[cell]:
            continue
        for side in (away, home):
            rows[side, cell] = 1.0
            cells[side, 0] = cell
            counts[side] = 1
        for step in range(steps):
            if step % 2 == 0:
                advance(back_starts, back_columns, back_entries, rows, cells, counts, home, spare)
                home, spare = spare, home
            else:
                advance(starts, columns, entries, rows, cells, counts, away, spare)
                away, spare = spare, away
            total = 0.0
            for other in cells[away, : counts[away]]:  # at most a step behind the other list
                total += rows[away, other] * rows[home, other]
            diagonals[cell, step] = total
        for side in (away, home):
            for other in cells[side, : counts[side]]:
                rows[side, other] = 0.0
    return diagonals


@njit(cache=True)
@no_type_check
def advance(starts, columns, entries, rows, cells, counts, now, following):
    """Sets the row ``following``, zeros before, to the row ``now`` times the matrix, and that to
    zero."""
    count = 0
    for cell in cells[now, : counts[now]]:
        value = rows[now, cell]
        rows[now, cell] = 0.0
        for p in range(starts[cell], starts[cell + 1]):
            column = columns[p]
            step = value * entries[p]
            if step == 0.0:
                continue
            if rows[following, column] == 0.0:
                cells[following, count] = column
                count += 1
            rows[following, column] += step
    counts[following] = count
