"""The eigenvectors of the smallest eigenvalues of many Laplacians at once."""

from typing import no_type_check

import numpy as np
from jaxtyping import Float64, Int64
from numba import njit

from cellformer.complexes.many.union import diagonal_block
from cellformer.complexes.matrices import Matrix
from cellformer.encodings.numerics.eigenspaces import settle
from cellformer.encodings.numerics.inverse_lanczos import bottom_vectors, components
from cellformer.encodings.numerics.lowest_eigenvectors import (
    DENSE_CELLS,
    SAME,
    Laplacian,
    kernel_basis,
    smallest_eigenvectors,
)
from cellformer.lifting.searches.growing_arrays import copy_to

_SPARE = 4  # columns for vectors that complete the last eigenspace
_SIMPLE, _REPEATED, _ELSEWHERE = 0, 1, 2  # nothing, bases of eigenspaces, everything is to be done
_TIE = 1e-6  # the rule of `eigenspaces` for a simple eigenvalue


def smallest_of_each(
    laplacians: Matrix,
    offsets: Int64[np.ndarray, " complex_plus_1"],
    trivial: Float64[np.ndarray, " cell"],
    count: int,
) -> Float64[np.ndarray, "cell vector"]:
    """`smallest_eigenvectors` of every diagonal block; zeros where a block has fewer.

    Block i has the rows ``offsets[i]:offsets[i + 1]``; what they hold does not depend on the other
    blocks. Blocks of some ten to 1000 cells are solved by compiled code, those that it leaves
    one by one.
    """
    if not laplacians.data.all():  # stored zeros would join components
        laplacians = laplacians.copy()
        laplacians.eliminate_zeros()
    vectors = np.zeros((int(laplacians.shape[0]), count + _SPARE))
    values = np.zeros((len(offsets) - 1, count + _SPARE))
    state, kernels, labels, radii = _solve(
        laplacians.indptr.astype(np.int64),  # always the same types: compiled once
        laplacians.indices.astype(np.int64),
        laplacians.data,
        np.array(offsets),
        trivial,
        count,
        DENSE_CELLS,
        vectors,
        values,
    )
    for index in np.flatnonzero((state == _REPEATED) | (kernels > 1)).tolist():
        rows = slice(*offsets[index : index + 2].tolist())
        first = int(kernels[index]) - 1
        if state[index] == _REPEATED:
            kept = int(np.count_nonzero(values[index]))
            space = slice(first, first + kept)
            vectors[rows, space] = settle(
                values[index, :kept], vectors[rows, space], SAME * radii[index]
            )
        basis = kernel_basis(labels[rows], trivial[rows], count)
        vectors[rows, : basis.shape[1]] = basis
    for index in np.flatnonzero(state == _ELSEWHERE).tolist():
        rows = slice(*offsets[index : index + 2].tolist())
        found = smallest_eigenvectors(laplacian_block(laplacians, rows), count, trivial[rows])
        vectors[rows, : found.shape[1]] = found
    return vectors[:, :count]


def laplacian_block(laplacians: Matrix, rows: slice) -> Laplacian:
    """A diagonal block in float64, dense where that is worth while."""
    block = diagonal_block(laplacians, rows).astype(np.float64)
    return block.toarray() if rows.stop - rows.start <= DENSE_CELLS else block


@njit(cache=True)
@no_type_check
def _solve(starts, columns, entries, offsets, trivial, count, most, vectors, values):
    """Fills ``vectors`` (cell, column) from the column after the kernel's on, and ``values``.

    Returns what is left to be done for each block, the number of its components (1 where
    everything is), the component of each row, and a bound of each spectral radius.
    """
    blocks = len(offsets) - 1
    state = np.full(blocks, _ELSEWHERE, np.int8)
    kernels = np.ones(blocks, np.int64)
    labels = np.zeros(len(trivial), np.int64)
    radii = np.zeros(blocks)
    for block in range(blocks):
        first, stop = offsets[block], offsets[block + 1]
        if stop - first > most:
            continue
        own_starts = starts[first : stop + 1] - starts[first]
        own = slice(starts[first], starts[stop])
        own_columns = columns[own] - first
        own_entries = entries[own]
        own_labels, kernel = components(own_starts, own_columns)
        wanted = count - (kernel - 1)
        copy_to(labels, first, own_labels)
        if wanted <= 0:
            state[block] = _SIMPLE
            kernels[block] = kernel
            continue
        found, rows, radius = bottom_vectors(
            own_starts, own_columns, own_entries, trivial[first:stop], own_labels, kernel, wanted
        )
        if len(found) == 0 or len(found) > wanted + _SPARE:
            continue
        state[block] = _SIMPLE
        kernels[block] = kernel
        radii[block] = radius
        copy_to(values[block], 0, found)
        for i in range(len(found)):
            if i and found[i] - found[i - 1] <= SAME * radius:
                state[block] = _REPEATED
            largest = np.abs(rows[i]).max()
            pivot = 0
            while abs(rows[i, pivot]) < (1 - _TIE) * largest:
                pivot += 1
            sign = -1.0 if rows[i, pivot] < 0 else 1.0
            for k in range(stop - first):
                vectors[first + k, kernel - 1 + i] = sign * rows[i, k]
    return state, kernels, labels, radii
