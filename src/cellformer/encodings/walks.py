"""Return probabilities of a random walk."""

import itertools

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

from cellformer.complexes.neighborhoods import Matrix

DENSE_WALK_CELLS = 300
"""Up to this many cells a walk is worth making dense."""

_BLOCK = 4_000_000  # entries of the powers' rows that are held at a time


def return_probabilities(
    walk: NDArray[np.float64] | Matrix, steps: int
) -> Float64[np.ndarray, "cell step"]:
    """The diagonals of the powers 1 ... steps of a walk's matrix, whose columns sum to 1.

    Half of the powers are enough: row i of ``M^a`` and column i of ``M^b`` give the entry i of the
    diagonal of ``M^(a + b)``. Sparse matrices are worked through in blocks of cells, so
    that memory stays linear in the cells.
    """
    if isinstance(walk, np.ndarray):
        return _dense(walk, steps)
    backward = walk.T.tocsr()
    probabilities = np.empty((walk.shape[0], steps))
    probabilities[:, 0] = walk.diagonal()
    for rows in _row_blocks(walk, (steps + 1) // 2):
        _fill_rows(probabilities[rows], walk, walk[rows], backward, backward[rows])
    return probabilities


def _dense(walk: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
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


def _fill_rows(
    probabilities: NDArray[np.float64], walk: Matrix, away: Matrix, backward: Matrix, home: Matrix
) -> None:
    """The columns from the second on, of some cells: their rows of a power, and its columns."""
    steps = probabilities.shape[1]
    for step in range(2, steps + 1, 2):
        probabilities[:, step - 1] = away.multiply(home).sum(axis=1)
        if step < steps:
            home = home @ backward
            probabilities[:, step] = away.multiply(home).sum(axis=1)
            if step + 1 < steps:
                away = away @ walk


def _row_blocks(walk: Matrix, power: int) -> list[slice]:
    """Blocks of rows whose entries in ``walk^power`` are bounded by counting walks."""
    cells = int(walk.shape[0])
    pattern = walk.copy()
    pattern.data = np.ones_like(pattern.data)
    reach = np.ones(cells)
    for _ in range(power):
        reach = np.minimum(pattern @ reach, cells)
    numbers = np.cumsum(reach) // _BLOCK
    borders = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), cells]
    return [slice(a, b) for a, b in itertools.pairwise(borders) if b > a]
