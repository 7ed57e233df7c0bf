"""Smallest eigenvectors of large sparse Laplacians by filtered block iteration.

A whole block of vectors is filtered (so that its components along small eigenvalues grow) and
orthogonalized until it holds them. Unlike a Lanczos method from one start vector this finds
repeated eigenvalues, such as those of a large homology, and it has no way to break down.
"""

import warnings
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from cellformer.complexes.matrices import Matrix

Filter: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

_SPARE = 12  # further vectors in the block: they make the wanted ones converge
_RESIDUAL = 1e-9  # relative to the spectral radius
_ROUNDS = 100
_DEGREES = 20, 300  # of the polynomial filter
_LOWEST = 1e-5  # relative to the radius: what a filter of the highest degree can still resolve
_BANDWIDTH = 1500  # about the largest dense front that a factorization may meet


def bottom_of_spectrum(
    laplacian: Matrix, count: int, kernel: Matrix | None
) -> tuple[Float64[np.ndarray, " vector"], Float64[np.ndarray, "cell vector"], float]:
    """Values, orthonormal vectors, and a bound of the spectral radius.

    ``kernel``, orthonormal columns in the Laplacian's kernel, is left out. At most as many as
    there are cells. The start is fixed, so the result is too. Warns if 100 rounds do not
    reach a relative residual of 1e-9, and returns what was reached.
    """
    matrix = sparse.csr_array(laplacian, dtype=np.float64)
    cells = int(matrix.shape[0])
    radius = float(abs(matrix).sum(axis=0).max()) or 1.0
    dimension = cells - (0 if kernel is None else int(kernel.shape[1]))
    count = min(count, dimension)
    if count <= 0:
        return np.zeros(0), np.zeros((cells, 0)), radius
    width = min(2 * count + _SPARE, dimension)
    apply = _inverse(matrix, radius) if _narrow(matrix) else _polynomial(matrix, radius)
    block = np.random.default_rng(0).standard_normal((cells, width))
    values, block, image = _rayleigh_ritz(matrix, _without(block, kernel))
    residual = np.inf
    for _ in range(_ROUNDS):
        values, block, image = _rayleigh_ritz(matrix, _without(apply(block, values), kernel))
        misfit = image[:, :count] - block[:, :count] * values[:count]
        residual = float(np.linalg.norm(misfit, axis=0).max()) / radius
        if residual <= _RESIDUAL:
            break
    else:
        warnings.warn(
            f"the {count} smallest eigenvectors of {cells} cells are accurate to a relative "
            f"residual of {residual:.1e} only",
            stacklevel=2,
        )
    return values[:count], block[:, :count], radius


def _rayleigh_ritz(
    matrix: Matrix, block: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Approximate eigenvalues and eigenvectors within a block's span, and the latter's images."""
    basis = linalg.qr(block, mode="economic", check_finite=False)[0]
    image = matrix @ basis
    values, rotation = np.linalg.eigh(basis.T @ image)
    return values, basis @ rotation, image @ rotation


def _without(block: NDArray[np.float64], kernel: Matrix | None) -> NDArray[np.float64]:
    return block if kernel is None else block - kernel @ (kernel.T @ block)


def _narrow(matrix: Matrix) -> bool:
    """Whether factors stay sparse: a mesh has narrow separators, an expander has none.

    Judged by the mean bandwidth under the reverse Cuthill-McKee order. A wide matrix
    has a large spectral gap as a rule, so that a polynomial filter does well on it.
    """
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    rows = np.repeat(place, np.diff(matrix.indptr))
    first = np.arange(len(order), dtype=order.dtype)
    np.minimum.at(first, rows, place[matrix.indices])
    bandwidth = float((np.arange(len(order)) - first).mean())
    return bandwidth <= _BANDWIDTH


def _inverse(matrix: Matrix, radius: float) -> Filter:
    """One step of inverse iteration, shifted off the kernel."""
    shifted = matrix + 1e-8 * radius * sparse.eye_array(matrix.shape[0])
    factors = sparse.linalg.splu(
        sparse.csc_matrix(shifted),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def solve(block: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        solved: NDArray[np.float64] = factors.solve(block)
        return solved

    return solve


def _polynomial(matrix: Matrix, radius: float) -> Filter:
    """A Chebyshev polynomial that is small from the block's largest value to the radius.

    The degree is what makes values below that interval grow by about exp(6) against those in it.
    """

    def damp(block: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        low = min(max(float(values[-1]), _LOWEST * radius), 0.9 * radius)
        degree = int(np.clip(3 * np.sqrt(radius / low), *_DEGREES))
        center, half = (radius + low) / 2, (radius - low) / 2
        before = block
        now: NDArray[np.float64] = (matrix @ block - center * block) / half
        for _ in range(degree - 1):
            before, now = now, (matrix @ now - center * now) * (2 / half) - before
        return now

    return damp
