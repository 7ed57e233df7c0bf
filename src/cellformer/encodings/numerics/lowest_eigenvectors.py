"""The eigenvectors of a Laplacian's smallest eigenvalues, dense or sparse, always the same ones."""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float64, Integer
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from cellformer.complexes.matrices import Matrix
from cellformer.encodings.numerics.block_iteration import bottom_of_spectrum
from cellformer.encodings.numerics.eigenspaces import concentrated_basis, settle

Laplacian: TypeAlias = NDArray[np.float64] | Matrix

DENSE_CELLS = 1000
"""Up to this many cells a Laplacian is worth making dense."""

_WHOLE = 70  # cells

SAME = 1e-8
"""Eigenvalues closer than this, relative to the spectral radius, are one."""


def smallest_eigenvectors(
    laplacian: Laplacian, count: int, trivial: Float64[np.ndarray, " cell"] | None = None
) -> Float64[np.ndarray, "cell vector"]:
    """Up to ``count`` orthonormal eigenvectors of the smallest eigenvalues, in rising order.

    ``laplacian`` is symmetric and positive semidefinite. ``trivial``, without zeros, is the vector
    in its kernel that is left out: all that is returned is orthogonal to it, also where the
    kernel has further dimensions because the complex is not connected. Where ``trivial`` is given
    the kernel must be spanned by its restrictions to the connected components.

    Bases are chosen by the rule of `eigenspaces`. A sparse matrix goes to an iterative solver, of
    which the same is true up to an eigenspace that is larger than what was asked for.
    """
    if isinstance(laplacian, np.ndarray):
        return _dense(laplacian, count, trivial)
    if trivial is None:
        return _sparse(laplacian, count, None)
    labels = connected_components(laplacian, directed=False)[1]
    kernel = kernel_basis(labels, trivial, count)
    missing = count - kernel.shape[1]
    if not missing:
        return kernel
    per_component = trivial / np.sqrt(np.bincount(labels, trivial**2))[labels]
    whole = sparse.csr_array((per_component, (np.arange(len(labels)), labels)))
    return np.concatenate([kernel, _sparse(laplacian, missing, whole)], axis=1)


def _dense(
    laplacian: NDArray[np.float64], count: int, trivial: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    available = len(laplacian) - (trivial is not None)
    count = min(count, available)
    if count <= 0:
        return np.zeros((len(laplacian), 0))
    radius = float(abs(laplacian).sum(axis=0).max(initial=0)) or 1.0  # a bound, by Gershgorin
    if trivial is not None:
        # Moved beyond the spectrum's upper end; every other eigenvector stays what it is.
        laplacian = laplacian + np.outer(trivial, trivial) * (2 * radius / (trivial @ trivial))
    wanted = min(count + 1, available)
    values, vectors = _eigh(laplacian, wanted)
    while len(values) < available and values[-1] - values[count - 1] <= SAME * radius:
        wanted = min(4 * wanted, available)  # the last eigenspace is not complete yet
        values, vectors = _eigh(laplacian, wanted)
    end = count  # of the last eigenspace
    while end < min(available, len(values)) and values[end] - values[end - 1] <= SAME * radius:
        end += 1
    return settle(values[:end], vectors[:, :end], SAME * radius)[:, :count]


def _eigh(matrix: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], ...]:
    """At least ``count`` eigenvectors: all of a small matrix, as that is faster than a part."""
    try:
        if len(matrix) <= _WHOLE:
            return tuple(np.linalg.eigh(matrix))
        values, vectors = linalg.eigh(
            matrix, subset_by_index=[0, count - 1], driver="evr", check_finite=False
        )
    except linalg.LinAlgError:  # rare: another algorithm, slower and with fewer ways to fail
        values, vectors = linalg.eigh(matrix, driver="ev", check_finite=False)
    return values[:count], vectors[:, :count]


def _sparse(laplacian: Matrix, count: int, kernel: Matrix | None) -> NDArray[np.float64]:
    values, vectors, radius = bottom_of_spectrum(laplacian, count, kernel)
    return settle(values, vectors, SAME * radius)


def kernel_basis(
    labels: Integer[np.ndarray, " cell"], trivial: Float64[np.ndarray, " cell"], count: int
) -> Float64[np.ndarray, "cell vector"]:
    """A basis of the kernel, orthogonal to the trivial vector; at most ``count`` vectors.

    ``labels`` numbers the connected components, whose restrictions of ``trivial`` span the kernel.
    """
    squares = trivial**2
    in_component = np.bincount(labels, squares)[labels]
    total = squares.sum()

    def column(cell: int) -> NDArray[np.float64]:
        same = np.where(labels == labels[cell], 1 / in_component[cell], 0)
        projected: NDArray[np.float64] = trivial * trivial[cell] * (same - 1 / total)
        return projected

    components = int(labels.max(initial=-1)) + 1
    return concentrated_basis(
        squares * (1 / in_component - 1 / total), column, max(0, min(count, components - 1))
    )
