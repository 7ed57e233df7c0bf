"""The union of all minimum cycle bases of a graph, by Vismara's algorithm (see `Rings`).

For each vertex r (the root) and for shortest paths from r through lower vertices only, a
*prototype* is a cycle of two such paths, disjoint but for r, that end in neighbors (odd length) or
in two neighbors of one more vertex (even length). Every relevant cycle is a relevant prototype or
comes from one by taking other shortest paths to the same ends. Which prototypes are relevant is
decided by elimination over GF(2), a cycle being the set of its edges outside a spanning forest.
"""

from typing import no_type_check

import numpy as np
from numba import njit

from cellformer.lifting.searches.growing_arrays import copy_to, grown
from cellformer.lifting.searches.limited_cycles import (
    COMPLETE,
    TOO_MANY_CELLS,
    TOO_MANY_STEPS,
    Indices,
)

ROOT, LEFT, RIGHT, TIP, LENGTH = 0, 1, 2, 3, 4  # columns of a prototype; TIP -1 if odd


def relevant_cycles(
    starts: Indices, neighbors: Indices, max_length: int, max_cells: int, max_steps: int
) -> tuple[Indices, Indices, int]:
    """The relevant cycles as a `CycleSearch`: by length, then by their highest vertex."""
    none = np.zeros(0, np.int64), np.zeros(1, np.int64)
    chord, rank = _chords(starts, neighbors)
    prototypes, vectors, steps = _prototypes(starts, neighbors, chord, rank, max_length, max_steps)
    if steps > max_steps:
        return *none, TOO_MANY_STEPS
    order = np.argsort(prototypes[:, LENGTH], kind="stable")
    prototypes, vectors = prototypes[order], vectors[order]
    relevant, steps = _relevant(prototypes[:, LENGTH].copy(), vectors, rank, steps, max_steps)
    if steps > max_steps:
        return *none, TOO_MANY_STEPS
    vertices, offsets, outcome = _expand(
        starts, neighbors, prototypes[relevant], max_cells, max_steps - steps
    )
    return vertices, offsets, outcome


@njit(cache=True)
@no_type_check
def _chords(starts, neighbors):
    """For each entry of ``neighbors`` the number of its edge among those outside a spanning
    forest, -1 for an edge of the forest; and how many there are."""
    n = len(starts) - 1
    parent = np.full(n, -1, np.int64)
    chord = np.full(len(neighbors), -1, np.int64)
    queue = np.empty(n, np.int64)
    for root in range(n):
        if parent[root] >= 0:
            continue
        parent[root] = root
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            for w in neighbors[starts[v] : starts[v + 1]]:
                if parent[w] < 0:
                    parent[w] = v
                    queue[tail] = w
                    tail += 1
    rank = 0
    fill = starts[:-1].copy()  # lists are ascending, so v meets its lower neighbors in order
    for v in range(n):
        for at in range(starts[v], starts[v + 1]):
            w = neighbors[at]
            if w > v:
                if parent[w] != v and parent[v] != w:
                    chord[at] = rank
                    chord[fill[w]] = rank
                    rank += 1
                fill[w] += 1
    return chord, rank


@njit(cache=True)
@no_type_check
def _shortest_paths(starts, neighbors, root, depth, distance, parent, step, queue):
    """Breadth-first search from a root; ``distance`` must be -1 everywhere.

    Sets ``distance`` up to ``depth``; ``parent`` to the vertex before on a shortest path through
    vertices lower than the root, -1 where there is none; ``step`` to the entry of that edge.
    Returns the number of vertices found, in ``queue``, and the number of looks.
    """
    distance[root] = 0
    parent[root] = root
    step[root] = -1
    queue[0] = root
    head, tail, looks = 0, 1, 0
    while head < tail:
        v = queue[head]
        head += 1
        looks += starts[v + 1] - starts[v]
        if v != root:
            parent[v] = -1
        for at in range(starts[v], starts[v + 1]):
            w = neighbors[at]
            if distance[w] < 0:
                if distance[v] < depth:
                    distance[w] = distance[v] + 1
                    queue[tail] = w
                    tail += 1
            elif v < root and distance[w] == distance[v] - 1 and parent[w] >= 0 and parent[v] < 0:
                parent[v] = w
                step[v] = at
    return tail, looks


@njit(cache=True)
@no_type_check
def _prototypes(starts, neighbors, chord, rank, max_length, max_steps):
    """All prototypes up to a length, their edge vectors as bits, and the number of steps."""
    n = len(starts) - 1
    words = (rank + 63) // 64
    found = np.empty((16, 5), np.int64)
    vectors = np.empty((16, words), np.uint64)
    count = steps = 0
    distance = np.full(n, -1, np.int64)
    parent = np.full(n, -1, np.int64)
    step = np.empty(n, np.int64)
    queue = np.empty(n, np.int64)
    for root in range(n):
        reached, looks = _shortest_paths(
            starts, neighbors, root, max_length // 2, distance, parent, step, queue
        )
        steps += looks
        for y in queue[1:reached]:
            if steps > max_steps:
                return found[:count], vectors[:count], steps
            if parent[y] < 0:
                continue
            for i in range(starts[y], starts[y + 1]):
                p = neighbors[i]
                steps += 1
                if parent[p] < 0 or distance[p] < 0 or distance[p] > distance[y]:
                    continue
                if distance[p] == distance[y]:  # an odd cycle: root ... p, y ... root
                    length = 2 * distance[y] + 1
                    if p > y or length > max_length:
                        continue
                    steps += distance[y] + words
                    if _disjoint(p, y, root, parent):
                        found = grown(found, count + 1)
                        vectors = grown(vectors, count + 1)
                        found[count] = (root, p, y, -1, length)
                        _trace(vectors[count], p, y, root, parent, step, chord)
                        _flip(vectors[count], chord[i])
                        count += 1
                    continue
                for j in range(i + 1, starts[y + 1]):  # even cycles: root ... p, y, q ... root
                    q = neighbors[j]
                    steps += 1
                    if distance[q] != distance[p] or parent[q] < 0:
                        continue
                    steps += distance[y] + words
                    if _disjoint(p, q, root, parent):
                        found = grown(found, count + 1)
                        vectors = grown(vectors, count + 1)
                        found[count] = (root, p, q, y, 2 * distance[y])
                        _trace(vectors[count], p, q, root, parent, step, chord)
                        _flip(vectors[count], chord[i])
                        _flip(vectors[count], chord[j])
                        count += 1
        distance[queue[:reached]] = -1
    return found[:count], vectors[:count], steps


@njit(cache=True)
@no_type_check
def _disjoint(p, q, root, parent):
    """Whether the paths from two vertices at one distance to the root share only the root."""
    while p != root:
        if p == q:
            return False
        p = parent[p]
        q = parent[q]
    return True


@njit(cache=True)
@no_type_check
def _trace(vector, p, q, root, parent, step, chord):
    vector[:] = 0
    for end in (p, q):
        while end != root:
            _flip(vector, chord[step[end]])
            end = parent[end]


@njit(cache=True)
@no_type_check
def _flip(vector, bit):
    if bit >= 0:
        vector[bit // 64] ^= np.uint64(1) << np.uint64(bit % 64)


@njit(cache=True)
@no_type_check
def _relevant(lengths, vectors, rank, steps, max_steps):
    """Which prototypes are no sum of shorter ones; lengths ascend. Also the steps so far."""
    relevant = np.zeros(len(lengths), np.bool_)
    words = vectors.shape[1]
    basis = np.empty((rank, words), np.uint64)
    row_of = np.full(rank, -1, np.int64)  # the row of the basis whose lowest bit this is
    rows = first = 0
    while first < len(lengths) and rows < rank:
        stop = first
        while stop < len(lengths) and lengths[stop] == lengths[first]:
            bit, looks = _reduce(vectors[stop], basis, row_of)
            relevant[stop] = bit >= 0
            steps += looks
            stop += 1
            if steps > max_steps:
                return relevant, steps
        for i in range(first, stop):
            if relevant[i]:
                bit, looks = _reduce(vectors[i], basis, row_of)
                steps += looks
                if steps > max_steps:
                    return relevant, steps
                if bit >= 0:
                    copy_to(basis[rows], 0, vectors[i])
                    row_of[bit] = rows
                    rows += 1
        first = stop
    return relevant, steps


@njit(cache=True)
@no_type_check
def _reduce(vector, basis, row_of):
    """Adds rows of the basis in place until the lowest bit is no row's: that bit, or -1 for zero.

    Also returns the number of words looked at.
    """
    looks = 0
    for word in range(len(vector)):
        looks += 1
        while vector[word]:
            bits = vector[word]
            bit = word * 64
            while not bits & np.uint64(1):
                bits >>= np.uint64(1)
                bit += 1
            if row_of[bit] < 0:
                return bit, looks
            vector ^= basis[row_of[bit]]
            looks += len(vector)
    return -1, looks


@njit(cache=True)
@no_type_check
def _expand(starts, neighbors, prototypes, max_cells, max_steps):
    """The cycles of all relevant prototypes, one after the other: vertices, offsets, outcome."""
    n = len(starts) - 1
    vertices = np.empty(64, np.int64)
    offsets = np.zeros(16, np.int64)
    size = cells = steps = 0
    distance = np.full(n, -1, np.int64)
    parent = np.full(n, -1, np.int64)
    step = np.empty(n, np.int64)
    queue = np.empty(n, np.int64)
    paths = np.zeros(n, np.int64)  # how many shortest paths lead to the root, up to max_cells + 1
    for root, left, right, tip, length in prototypes:
        reached, looks = _shortest_paths(
            starts, neighbors, root, length // 2, distance, parent, step, queue
        )
        steps += 2 * looks
        if steps > max_steps:
            return vertices[:size], offsets[: cells + 1], TOO_MANY_STEPS
        paths[root] = 1
        for v in queue[1:reached]:
            paths[v] = 0
            if parent[v] >= 0:
                for w in neighbors[starts[v] : starts[v + 1]]:
                    if distance[w] == distance[v] - 1 and parent[w] >= 0:
                        paths[v] = min(paths[v] + paths[w], max_cells + 1)
        if cells + paths[left] * paths[right] > max_cells:
            return vertices[:size], offsets[: cells + 1], TOO_MANY_CELLS
        half = distance[left]
        for i in range(paths[left]):
            for j in range(paths[right]):
                vertices = grown(vertices, size + length)
                offsets = grown(offsets, cells + 2)
                cycle = vertices[size : size + length]
                cycle[0] = root
                there = cycle[half:0:-1]  # written from its end to the root
                back = cycle[length - half :]
                _write_path(there, left, i, starts, neighbors, distance, parent, paths)
                _write_path(back, right, j, starts, neighbors, distance, parent, paths)
                if tip >= 0:
                    cycle[half + 1] = tip
                size += length
                cells += 1
                offsets[cells] = size
        distance[queue[:reached]] = -1
    return vertices[:size], offsets[: cells + 1], COMPLETE


@njit(cache=True)
@no_type_check
def _write_path(out, end, number, starts, neighbors, distance, parent, paths):
    """Writes the shortest path of this number from ``end`` towards the root, without the root."""
    v = end
    for i in range(len(out)):
        out[i] = v
        for w in neighbors[starts[v] : starts[v + 1]]:
            if distance[w] == distance[v] - 1 and parent[w] >= 0:
                if number < paths[w]:
                    v = w
                    break
                number -= paths[w]
