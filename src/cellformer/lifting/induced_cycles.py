"""A face for every short chordless cycle."""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from numba import njit

from cellformer.basics.checks import at_least
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import ranges
from cellformer.complexes.many.ragged_graphs import RaggedGraphs
from cellformer.lifting.lift import Lifted, OverLimit, check_limits
from cellformer.lifting.searches.growing_arrays import copy_to, grown
from cellformer.lifting.searches.limited_cycles import (
    COMPLETE,
    TOO_MANY_CELLS,
    TOO_MANY_STEPS,
    Indices,
    fill_all_cycles,
    fill_cycles,
)


@dataclass(frozen=True)
class InducedCycles:
    """All cycles of length 3 to ``max_length`` without a chord, each once.

    The faces do not depend on how the vertices are numbered. They come by length, then in the
    lexicographic order of their vertices (from the lowest, towards its lower neighbor).

    Size limit: the number of chordless cycles, and the time to find them, can grow exponentially
    with ``max_length`` where vertices have many neighbors. The default limits are far above what
    molecules and sparse graphs of some hundred vertices need; at either one the lifting stops
    within about a second. The limit on cells is the same for every numbering of the vertices, the
    one on steps approximately so.
    """

    max_length: int = 8
    """The number of edges of the longest cycle."""
    max_cells: int = 100_000
    """The greatest number of cycles."""
    max_steps: int = 100_000_000
    """The greatest number of looks at a vertex's neighbor during the search."""
    over_limit: OverLimit = "fail"
    """Over a limit, "fail" raises `LiftingLimitError`; "truncate" keeps all cycles up to the
    greatest length for which the limits suffice, and none that are longer."""

    def __post_init__(self) -> None:
        at_least(3, max_length=self.max_length)
        check_limits(self.max_cells, self.max_steps, self.over_limit)

    def __call__(self, graph: Graph) -> CellComplex:
        """Lifts a graph; raises `LiftingLimitError` as configured."""
        return fill_cycles(graph, _chordless_cycles, *self._limits())

    def many(self, graphs: RaggedGraphs) -> Lifted:
        """Lifts each graph of a collection."""
        return fill_all_cycles(graphs, _chordless_cycles, *self._limits())

    def _limits(self) -> tuple[int, int, int, OverLimit]:
        return self.max_length, self.max_cells, self.max_steps, self.over_limit


def _chordless_cycles(
    starts: Indices, neighbors: Indices, max_length: int, max_cells: int, max_steps: int
) -> tuple[Indices, Indices, int]:
    """The chordless cycles by length; within a length in the order of the search."""
    vertices, ends, outcome = _search(starts, neighbors, max_length, max_cells, max_steps)
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    order = np.argsort(np.diff(offsets), kind="stable")
    chosen, offsets = ranges(offsets[:-1][order], offsets[1:][order])
    return vertices[chosen], offsets, outcome


@njit(cache=True)
@no_type_check
def _search(starts, neighbors, max_length, max_cells, max_steps):
    """Extends chordless paths from each vertex (the root) through higher ones until they close.

    A path is abandoned where the root is too far away to be reached within ``max_length``.
    """
    n = len(starts) - 1
    vertices = np.empty(64, np.int64)
    ends = np.empty(16, np.int64)
    size = cells = steps = 0
    distance = np.full(n, -1, np.int64)  # to the root, through higher vertices
    queue = np.empty(n, np.int64)
    chords = np.zeros(n, np.int64)  # neighbors on the path, not counting the root and the last
    path = np.empty(max_length + 1, np.int64)
    cursor = np.empty(max_length + 1, np.int64)  # where in a path vertex's list to look next

    for root in range(n):
        distance[root] = 0
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            if distance[v] < max_length // 2:
                for w in neighbors[starts[v] : starts[v + 1]]:
                    steps += 1
                    if w > root and distance[w] < 0:
                        distance[w] = distance[v] + 1
                        queue[tail] = w
                        tail += 1

        path[0] = root
        cursor[0] = starts[root]
        last = 0
        while last >= 0:
            v = path[last]
            if cursor[last] == starts[v + 1]:  # all extensions seen: one step back
                last -= 1
                if last > 0:
                    for w in neighbors[starts[path[last]] : starts[path[last] + 1]]:
                        chords[w] -= 1
                continue
            steps += 1
            if steps > max_steps:
                return vertices[:size], ends[:cells], TOO_MANY_STEPS
            w = neighbors[cursor[last]]
            cursor[last] += 1
            if w <= root or chords[w] > 0 or distance[w] < 0:
                continue
            if last > 0 and distance[w] == 1:
                if w > path[1]:  # of the two directions, keep one
                    if cells == max_cells:
                        return vertices[:size], ends[:cells], TOO_MANY_CELLS
                    vertices = grown(vertices, size + last + 2)
                    ends = grown(ends, cells + 1)
                    copy_to(vertices, size, path[: last + 1])
                    vertices[size + last + 1] = w
                    size += last + 2
                    ends[cells] = size
                    cells += 1
            elif last + 1 + distance[w] <= max_length:
                if last > 0:
                    for u in neighbors[starts[v] : starts[v + 1]]:
                        steps += 1
                        chords[u] += 1
                last += 1
                path[last] = w
                cursor[last] = starts[w]
        distance[queue[:tail]] = -1
    return vertices[:size], ends[:cells], COMPLETE
