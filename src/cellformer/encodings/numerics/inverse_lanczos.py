"""Smallest eigenvectors of many sparse Laplacians of some ten to a thousand cells, compiled.

The Lanczos method on the inverse, each vector orthogonalized against all before and against the
kernel, which is known. From one start vector it finds one vector of a repeated eigenvalue; so the
number of eigenvalues below the last one wanted is counted by the signs of the pivots of a
factorization there (Sylvester's law of inertia). Whatever does not agree, or does not converge, is
left to another method.
"""

from typing import no_type_check

import numpy as np
from numba import njit

from cellformer.encodings.numerics.lowest_eigenvectors import SAME
from cellformer.encodings.numerics.sparse_factors import elimination, factorize, solve
from cellformer.encodings.numerics.tridiagonal import tridiagonal_eigenvectors
from cellformer.lifting.searches.growing_arrays import copy_to

_SHIFT = 1e-3  # relative to the spectral radius: keeps the inverse off the kernel
_STEPS = 100  # at most
_CHECKED = 4  # for convergence, every so many steps
_LARGE = 200  # cells, from which on a step costs more than a check
_BREAKDOWN = 1e-12  # a new direction shorter than this is rounding: all others are exhausted
_CONVERGED = 1e-13  # of a vector's residual under the inverse, relative to its value
_RESIDUAL = 1e-11  # of an accepted vector, relative to the spectral radius
_APART = 1e-6  # eigenvalues further apart than this are two; in between another method decides
_PIVOT = 1e-7  # smaller ones do not count eigenvalues reliably


@njit(cache=True)
@no_type_check
def components(starts, columns):
    """The number of the connected component of each row, and how many there are."""
    n = len(starts) - 1
    labels = np.full(n, -1, np.int64)
    queue = np.empty(n, np.int64)
    count = 0
    for root in range(n):
        if labels[root] >= 0:
            continue
        labels[root] = count
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            for w in columns[starts[v] : starts[v + 1]]:
                if labels[w] < 0:
                    labels[w] = count
                    queue[tail] = w
                    tail += 1
        count += 1
    return labels, count


@njit(cache=True, error_model="numpy")
@no_type_check
def bottom_vectors(starts, columns, entries, trivial, labels, kernel, count):
    """Values, at least ``count`` eigenvectors as rows, and a bound of the spectral radius.

    They belong to the smallest non-zero eigenvalues, ascending, the last of which is there with
    all its vectors. The Laplacian is given as CSR arrays; ``trivial``, without zeros, lies in its
    kernel, which its restrictions to the ``kernel`` connected components span. There are no
    vectors if eigenvalues are nearly but not quite the same, if some of a repeated one are
    missing, or if the iteration did not converge.
    """
    n = len(starts) - 1
    free = n - kernel
    radius = 0.0
    for v in range(n):
        radius = max(radius, np.abs(entries[starts[v] : starts[v + 1]]).sum())
    nothing = np.zeros(0), np.zeros((0, n)), radius
    if free < 2 * count + 8:
        return nothing
    order, bounds, rows = elimination(starts, columns)
    lower = np.empty(len(rows))
    pivots = np.empty(n)
    shift = _SHIFT * radius
    factorize(starts, columns, entries, shift, order, bounds, rows, lower, pivots)

    own = labels[order]
    null = trivial[order].copy()
    products = np.zeros(kernel)
    for k in range(n):
        products[own[k]] += null[k] ** 2
    for k in range(n):
        null[k] /= np.sqrt(products[own[k]])

    steps = min(free, _STEPS)
    basis = np.empty((steps + 1, n))
    diagonal = np.empty(steps)
    off = np.empty(steps)
    state = np.uint64(0x9E3779B97F4A7C15)
    for v in range(n):  # a fixed start, by a linear congruential generator
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        basis[0, v] = np.float64(state >> np.uint64(11)) * 2.0**-52 - 1.0
    beginning = basis[0]
    _without_kernel(beginning, null, own, products)
    beginning /= np.sqrt((beginning**2).sum())
    done = 0
    first_check = 2 * count + (8 if n >= _LARGE else 16)
    while True:
        following = basis[done + 1]
        copy_to(following, 0, basis[done])
        solve(bounds, rows, lower, pivots, following)
        _without_kernel(following, null, own, products)
        before = basis[: done + 1]
        along = before @ following
        diagonal[done] = along[done]
        following -= along @ before
        following -= (before @ following) @ before
        length = np.sqrt((following**2).sum())
        off[done] = length
        done += 1
        last = done == steps or length <= _BREAKDOWN * abs(diagonal[0])
        if last or (done >= first_check and (done - first_check) % _CHECKED == 0):
            values, rotation, settled = tridiagonal_eigenvectors(diagonal[:done], off[:done])
            if not settled or done <= count:
                return nothing
            values, rotation = 1 / values[::-1] - shift, rotation[::-1]  # ascending again
            kept = count
            while kept < done and values[kept] - values[kept - 1] <= _APART * radius:
                kept += 1
            misfits = length * np.abs(rotation[:kept, done - 1]) * (values[:kept] + shift)
            if kept < done and (misfits <= _CONVERGED).all():
                break
            if last:
                return nothing
        following /= length

    for i in range(kept - 1):
        if SAME * radius < values[i + 1] - values[i] <= _APART * radius:
            return nothing
    below = values[kept - 1] + 0.1 * (values[kept] - values[kept - 1])
    factorize(starts, columns, entries, -below, order, bounds, rows, lower, pivots)
    if np.abs(pivots).min() < _PIVOT * radius or (pivots < 0).sum() != kernel + kept:
        return nothing

    ritz = np.ascontiguousarray(rotation[:kept]) @ basis[:done]
    vectors = np.empty((kept, n))
    for i in range(kept):
        for k in range(n):
            vectors[i, order[k]] = ritz[i, k]
        misfit = 0.0
        for v in range(n):
            image = -values[i] * vectors[i, v]
            for p in range(starts[v], starts[v + 1]):
                image += entries[p] * vectors[i, columns[p]]
            misfit += image * image
        if not np.sqrt(misfit) <= _RESIDUAL * radius:
            return nothing
    return values[:kept].copy(), vectors, radius


@njit(cache=True)
@no_type_check
def _without_kernel(vector, null, own, products):
    """Makes a vector orthogonal to each component's null vector; ``products`` is scratch."""
    products[:] = 0
    for k in range(len(vector)):
        products[own[k]] += null[k] * vector[k]
    for k in range(len(vector)):
        vector[k] -= products[own[k]] * null[k]
