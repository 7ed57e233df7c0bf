"""The part of a graph that can hold cycles."""

from typing import no_type_check

import numpy as np
from numba import njit

from cellformer.lifting.searches.growing_arrays import copy_to


@njit(cache=True)
@no_type_check  # compiled functions have no Python signature to check
def two_core(num_vertices, edges):
    """The neighbors of each vertex after vertices with fewer than two are removed, repeatedly.

    Takes int64 (edge, 2). Returns int64 ``starts`` (vertex + 1) and ``neighbors``: those of v are
    ``neighbors[starts[v]:starts[v + 1]]``, ascending; none where v was removed.
    """
    degree = np.zeros(num_vertices, np.int64)
    for low, high in edges:
        degree[low] += 1
        degree[high] += 1
    starts = np.zeros(num_vertices + 1, np.int64)
    copy_to(starts, 1, np.cumsum(degree))
    every = np.empty(2 * len(edges), np.int64)
    fill = starts[:-1].copy()
    for low, high in edges:
        every[fill[low]] = high
        every[fill[high]] = low
        fill[low] += 1
        fill[high] += 1

    stack = [v for v in range(num_vertices) if degree[v] < 2]
    while stack:
        leaf = stack.pop()
        for neighbor in every[starts[leaf] : starts[leaf + 1]]:
            degree[neighbor] -= 1
            if degree[neighbor] == 1:
                stack.append(neighbor)
        degree[leaf] = 0

    kept = degree >= 2
    core_starts = np.zeros(num_vertices + 1, np.int64)
    copy_to(core_starts, 1, np.cumsum(np.where(kept, degree, 0)))
    neighbors = np.empty(core_starts[-1], np.int64)
    fill = core_starts[:-1].copy()
    for v in range(num_vertices):  # visited in ascending order, so every list is ascending
        if kept[v]:
            for neighbor in every[starts[v] : starts[v + 1]]:
                if kept[neighbor]:
                    neighbors[fill[neighbor]] = v
                    fill[neighbor] += 1
    return core_starts, neighbors
