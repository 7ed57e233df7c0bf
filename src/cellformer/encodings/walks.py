"""Return probabilities of a random walk."""

from typing import no_type_check

import numpy as np
from jaxtyping import Float64, Int64
from numba import njit
from numpy.typing import NDArray

from cellformer.complexes.neighborhoods import Matrix
from cellformer.complexes.union import diagonal_block


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
    diagonals = np.empty((n, steps))
    away, home, spare = np.zeros(n), np.zeros(n), np.zeros(n)  # row and column of a power
    cells_away, cells_home = np.empty(n, np.int32), np.empty(n, np.int32)  # where not zero
    cells_spare = np.empty(n, np.int32)
    for cell in range(n):
        if not chosen[cell]:
            continue
        away[cell] = home[cell] = 1.0
        cells_away[0] = cells_home[0] = cell
        num_away = num_home = 1
        for step in range(steps):
            if step % 2 == 0:
                num_home = _advance(back_starts, back_columns, back_entries,
                                    home, cells_home[:num_home], spare, cells_spare)  # fmt: skip
                home, spare = spare, home
                cells_home, cells_spare = cells_spare, cells_home
            else:
                num_away = _advance(starts, columns, entries,
                                    away, cells_away[:num_away], spare, cells_spare)  # fmt: skip
                away, spare = spare, away
                cells_away, cells_spare = cells_spare, cells_away
            total = 0.0
            for other in cells_away[:num_away]:  # never the longer list by more than a step
                total += away[other] * home[other]
            diagonals[cell, step] = total
        away[cells_away[:num_away]] = 0.0
        home[cells_home[:num_home]] = 0.0
    return diagonals


@njit(cache=True)
@no_type_check
def _advance(starts, columns, entries, row, cells, following, cells_following):
    """Sets ``following``, zeros before, to ``row`` times the matrix, and ``row`` to zero.

    ``cells`` are where ``row`` is not zero. Returns in how many cells ``following`` is not.
    """
    count = 0
    for cell in cells:
        value = row[cell]
        row[cell] = 0.0
        for p in range(starts[cell], starts[cell + 1]):
            column = columns[p]
            if following[column] == 0.0:
                cells_following[count] = column
                count += 1
            following[column] += value * entries[p]
    return count
