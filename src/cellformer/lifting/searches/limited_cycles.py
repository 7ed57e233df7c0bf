"""Cycles found by a compiled search that gives up at a limit."""

import itertools
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from jaxtyping import Int64

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged_graphs import RaggedGraphs
from cellformer.lifting.lift import Lifted, LiftingLimitError, OverLimit, limit_error
from cellformer.lifting.searches.two_core import two_core
from cellformer.lifting.skeleton import attach_all_cycles, attach_cycles

Indices: TypeAlias = Int64[np.ndarray, " _"]
CycleSearch: TypeAlias = Callable[[Indices, Indices, int, int, int], tuple[Indices, Indices, int]]
"""(starts, neighbors, max_length, max_cells, max_steps) -> (vertices, offsets, outcome): the cycles
up to a length of the graph with these neighbors (see `two_core`), one after the other."""

COMPLETE, TOO_MANY_CELLS, TOO_MANY_STEPS = 0, 1, 2
"""How a search ended. Its cycles are of no use unless it is complete."""


def fill_cycles(
    graph: Graph,
    search: CycleSearch,
    max_length: int,
    max_cells: int,
    max_steps: int,
    over_limit: OverLimit,
) -> CellComplex:
    """The graph with a face in every cycle that a search finds (see `find_cycles`)."""
    limits = max_length, max_cells, max_steps, over_limit
    try:
        found = find_cycles(graph.num_vertices, graph.edges, search, *limits)
    except LiftingLimitError as error:
        raise limit_error(graph, str(error)) from None
    return attach_cycles(graph, *found)


def fill_all_cycles(
    graphs: RaggedGraphs,
    search: CycleSearch,
    max_length: int,
    max_cells: int,
    max_steps: int,
    over_limit: OverLimit,
) -> Lifted:
    """`fill_cycles` of each graph of a collection."""
    limits = max_length, max_cells, max_steps, over_limit
    sizes = np.diff(graphs.vertex_offsets).tolist()
    edge_offsets = itertools.pairwise(graphs.edge_offsets.tolist())
    found: dict[int, tuple[Indices, Indices]] = {}
    over: dict[int, str] = {}
    for number, (size, (start, stop)) in enumerate(zip(sizes, edge_offsets, strict=True)):
        try:
            found[number] = find_cycles(size, graphs.edges[start:stop], search, *limits)
        except LiftingLimitError as error:
            over[number] = str(error)
    none = np.zeros(0, np.int64)
    lengths = np.concatenate([none, *(np.diff(offsets) for _, offsets in found.values())])
    faces = np.cumsum([0, *(len(offsets) - 1 for _, offsets in found.values())])
    vertices = np.concatenate([none, *(vertices for vertices, _ in found.values())])
    kept = graphs.take(np.array(list(found), np.int64)) if over else graphs
    filled = attach_all_cycles(kept, vertices, np.append(0, np.cumsum(lengths)), faces)
    return Lifted(filled, over)


def find_cycles(
    num_vertices: int,
    edges: Int64[np.ndarray, "edge 2"],
    search: CycleSearch,
    max_length: int,
    max_cells: int,
    max_steps: int,
    over_limit: OverLimit,
) -> tuple[Indices, Indices]:
    """The vertices and the offsets of the cycles of a graph that a search finds.

    Over a limit, "truncate" keeps all cycles up to the greatest length that stays within the
    limits and none that are longer: which ones are kept does not depend on their order; "fail"
    raises `LiftingLimitError` with the reason, which names no graph.
    """
    starts, neighbors = two_core(num_vertices, np.array(edges, np.int64, order="C"))
    longest = min(max_length, num_vertices)

    def run(length: int) -> tuple[Indices, Indices, int]:
        return search(starts, neighbors, length, max_cells, max_steps)

    vertices, offsets, outcome = run(longest)
    if outcome != COMPLETE and over_limit == "fail":
        what = (
            f"more than {max_cells} cycles (max_cells)"
            if outcome == TOO_MANY_CELLS
            else f"more than {max_steps} steps to find the cycles (max_steps)"
        )
        raise LiftingLimitError(
            f"{what} of length 3 to {longest}; allow only shorter cycles, "
            "raise the limit, or set data.over_limit to skip or truncate (in Python "
            "over_limit='truncate' of the lifting)"
        )
    if outcome != COMPLETE:
        within, beyond = 2, longest  # there is no cycle of length 2
        vertices, offsets = np.zeros(0, np.int64), np.zeros(1, np.int64)
        while beyond - within > 1:
            middle = (within + beyond) // 2
            found, ends, outcome = run(middle)
            if outcome == COMPLETE:
                within, vertices, offsets = middle, found, ends
            else:
                beyond = middle
    return vertices, offsets
