"""One basis out of the many that span an eigenspace, by a rule that rounding cannot upset.

An eigenvector is determined up to sign, and those of a repeated eigenvalue up to a rotation. The
rule here: among the cells that the eigenspace reaches best (the largest diagonal of its projector,
the first of those that tie) take the unit vector of the eigenspace most concentrated on that cell,
positive there; then go on in what is orthogonal to it. For a simple eigenvalue this is: the
entry of largest magnitude, the first where several tie, is positive.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

_TIE = 1e-6  # entries closer than this, relatively, tie: far above rounding, below any structure


def concentrated_basis(
    diagonal: Float64[np.ndarray, " cell"],
    column: Callable[[int], NDArray[np.float64]],
    count: int,
) -> Float64[np.ndarray, "cell vector"]:
    """The first ``count`` basis vectors of a space, by the rule of this module.

    The space is given by its orthogonal projector: its diagonal, and any of its columns.
    """
    basis = np.zeros((len(diagonal), count))
    left = diagonal.copy()
    for number in range(count):
        cell = int((left >= (1 - _TIE) * left.max()).argmax())
        vector = column(cell) - basis[:, :number] @ basis[cell, :number]
        basis[:, number] = vector / np.linalg.norm(vector)
        left -= basis[:, number] ** 2
    return basis


def settle(
    values: Float64[np.ndarray, " vector"],
    vectors: Float64[np.ndarray, "cell vector"],
    tolerance: float,
) -> Float64[np.ndarray, "cell vector"]:
    """Orthonormal eigenvectors, settled by the rule of this module.

    ``values`` is sorted either way; neighbors closer than ``tolerance`` are one eigenvalue.
    """
    magnitudes = abs(vectors)
    pivots = (magnitudes >= (1 - _TIE) * magnitudes.max(axis=0, initial=0)).argmax(axis=0)
    negative = np.take_along_axis(vectors, pivots[None], axis=0)[0] < 0
    settled = np.where(negative, -vectors, vectors)
    ends = np.flatnonzero(np.append(abs(np.diff(values)) > tolerance, True)) + 1
    starts = np.append(0, ends[:-1])
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if end - start > 1:
            settled[:, start:end] = _rotated(vectors[:, start:end])
    return settled


def _rotated(space: NDArray[np.float64]) -> NDArray[np.float64]:
    return concentrated_basis(
        (space**2).sum(axis=1), lambda cell: space @ space[cell], space.shape[1]
    )
