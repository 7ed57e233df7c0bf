"""Factors ``L D L^T`` of one small sparse symmetric matrix after another, compiled.

What a general solver spends on being called is more than the work itself for matrices of some
hundred rows. There is no pivoting: it is for positive definite matrices, and for counting
eigenvalues below a shift, where a pivot too small to be trusted is reported.
"""

from typing import no_type_check

import numpy as np
from numba import njit

from cellformer.lifting.searches.growing_arrays import grown


@njit(cache=True, inline="always")
@no_type_check
def _ones(word):
    """The number of bits set in 64."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
@no_type_check
def elimination(starts, columns):
    """An order of minimum degree, and where the factor has entries.

    Takes the pattern of a symmetric matrix (CSR). Returns ``order``, the row that is eliminated
    at each step; ``bounds`` and ``rows``: below its diagonal, column k of L has entries in the
    rows ``rows[bounds[k]:bounds[k + 1]]``, ascending, counted in that order.

    Neighbors are sets of bits, so the memory is quadratic in the rows: 125 kB for 1000.
    """
    n = len(starts) - 1
    words = (n + 63) // 64
    one = np.uint64(1)
    near = np.zeros((n, words), np.uint64)
    degree = np.zeros(n, np.int32)
    for v in range(n):
        for w in columns[starts[v] : starts[v + 1]]:
            if w != v:
                near[v, w >> 6] |= one << np.uint64(w & 63)
                degree[v] += 1
    order = np.empty(n, np.int64)
    place = np.empty(n, np.int64)
    bounds = np.zeros(n + 1, np.int64)
    members = np.empty(4 * n + 16, np.int64)
    size = 0
    for k in range(n):
        v = 0
        least = np.int32(n + 1)
        for u in range(n):
            if degree[u] < least:
                least = degree[u]
                v = u
        order[k] = v
        place[v] = k
        degree[v] = n + 2  # gone
        members = grown(members, size + least)
        begin = size
        for word in range(words):
            bits = near[v, word]
            while bits:
                low = bits & (~bits + one)
                members[size] = (word << 6) + _ones(low - one)
                size += 1
                bits ^= low
        gone = ~(one << np.uint64(v & 63))
        for u in members[begin:size]:
            near[u, v >> 6] &= gone
            count = -1  # itself
            if least == 1:
                degree[u] -= 1
                continue
            near[u, u >> 6] |= one << np.uint64(u & 63)
            for word in range(words):
                joined = near[u, word] | near[v, word]
                if word == v >> 6:
                    joined &= gone
                near[u, word] = joined
                count += _ones(joined)
            near[u, u >> 6] &= ~(one << np.uint64(u & 63))
            degree[u] = count
        bounds[k + 1] = size
    return order, bounds, _ascending(bounds, members[:size], place)


@njit(cache=True)
@no_type_check
def _ascending(bounds, members, place):
    """The places of each column's members, sorted by listing the columns of each row first."""
    n = len(bounds) - 1
    fill = np.zeros(n + 1, np.int64)
    for member in members:
        fill[place[member] + 1] += 1
    fill = np.cumsum(fill)
    of_row = np.empty(len(members), np.int64)
    ends = fill[:-1].copy()
    for k in range(n):
        for member in members[bounds[k] : bounds[k + 1]]:
            of_row[ends[place[member]]] = k
            ends[place[member]] += 1
    rows = np.empty(len(members), np.int64)
    ends = bounds[:-1].copy()
    for row in range(n):
        for k in of_row[fill[row] : fill[row + 1]]:
            rows[ends[k]] = row
            ends[k] += 1
    return rows


@njit(cache=True)
@no_type_check
def factorize(starts, columns, entries, shift, order, bounds, rows, lower, pivots):
    """Sets ``lower`` (the entries at ``rows``) and ``pivots`` so that
    ``L D L^T = matrix + shift I``, in that order; column by column, left-looking."""
    n = len(order)
    place = np.empty(n, np.int64)
    for k in range(n):
        place[order[k]] = k
    column = np.zeros(n)
    first = np.empty(n, np.int64)  # of each finished column, its entry that is needed next
    chain = np.full(n, -1, np.int64)  # the columns whose next entry lies in the same row
    head = np.full(n, -1, np.int64)
    for j in range(n):
        v = order[j]
        column[j] = shift
        for p in range(starts[v], starts[v + 1]):
            row = place[columns[p]]
            if row >= j:
                column[row] += entries[p]
        k = head[j]
        while k >= 0:
            following = chain[k]
            p = first[k]
            factor = lower[p] * pivots[k]
            for q in range(p, bounds[k + 1]):
                column[rows[q]] -= factor * lower[q]
            first[k] = p + 1
            if p + 1 < bounds[k + 1]:
                chain[k] = head[rows[p + 1]]
                head[rows[p + 1]] = k
            k = following
        pivot = column[j]
        pivots[j] = pivot
        column[j] = 0.0
        inverse = 0.0 if pivot == 0 else 1 / pivot
        for q in range(bounds[j], bounds[j + 1]):
            lower[q] = column[rows[q]] * inverse
            column[rows[q]] = 0.0
        first[j] = bounds[j]
        if bounds[j] < bounds[j + 1]:
            chain[j] = head[rows[bounds[j]]]
            head[rows[bounds[j]]] = j


@njit(cache=True, error_model="numpy")
@no_type_check
def solve(bounds, rows, lower, pivots, right):
    """Replaces ``right`` by the solution of ``L D L^T x = right``."""
    n = len(pivots)
    for k in range(n):
        value = right[k]
        for q in range(bounds[k], bounds[k + 1]):
            right[rows[q]] -= lower[q] * value
    for k in range(n - 1, -1, -1):
        value = right[k] / pivots[k]
        for q in range(bounds[k], bounds[k + 1]):
            value -= lower[q] * right[rows[q]]
        right[k] = value
