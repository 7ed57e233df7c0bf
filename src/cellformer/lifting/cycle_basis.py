"""The paper's lifting: a face for every cycle of a cycle basis."""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from numba import njit

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged_graphs import RaggedGraphs
from cellformer.lifting.lift import Lifted
from cellformer.lifting.searches.growing_arrays import copy_to, grown
from cellformer.lifting.skeleton import attach_all_cycles, attach_cycles


@dataclass(frozen=True)
class CycleBasis:
    """The fundamental cycles of a spanning tree, as ``networkx.cycle_basis`` finds them.

    This is TopoNetX's lifting, which the paper uses (section "Experiments"). It is here to
    reproduce the paper: *the faces depend on how the vertices and edges are numbered*, and a
    basis may hold long cycles where short ones exist. `InducedCycles` and `Rings` do neither.

    There is one face for every independent cycle (edges - vertices + components), of any
    length, so no limit is needed.
    """

    def __call__(self, graph: Graph) -> CellComplex:
        """Lifts a graph as if its vertices, then its edges, entered networkx in their order."""
        edges = np.ascontiguousarray(graph.edges)
        return attach_cycles(graph, *fundamental_cycles(graph.num_vertices, edges))

    def many(self, graphs: RaggedGraphs) -> Lifted:
        """Lifts each graph of a collection."""
        cycles = _of_each(graphs.vertex_offsets, graphs.edge_offsets, graphs.edges)
        return Lifted(attach_all_cycles(graphs, *cycles), {})


@njit(cache=True)
@no_type_check
def fundamental_cycles(num_vertices, edges):
    """The cycles of ``networkx.cycle_basis`` (3.6), in its order: vertices and offsets.

    Source: K. Paton, "An algorithm for finding a fundamental set of cycles of a graph",
    Communications of the ACM 12 (1969), 514-518, beginning at the last vertex of each component.
    """
    starts = np.zeros(num_vertices + 1, np.int64)
    for low, high in edges:
        starts[low + 1] += 1
        starts[high + 1] += 1
    starts = np.cumsum(starts)
    neighbors = np.empty(2 * len(edges), np.int64)
    twin = np.empty(2 * len(edges), np.int64)  # where the same edge stands in the other list
    fill = starts[:-1].copy()
    for low, high in edges:
        i, j = fill[low], fill[high]
        neighbors[i], neighbors[j], twin[i], twin[j] = high, low, j, i
        fill[low] += 1
        fill[high] += 1

    used = np.zeros(2 * len(edges), np.bool_)  # the edge leads to a vertex that came first
    mark = np.full(num_vertices, -1, np.int64)
    parent = np.full(num_vertices, -1, np.int64)
    stack = np.empty(num_vertices, np.int64)
    vertices = np.empty(64, np.int64)
    offsets = np.zeros(16, np.int64)
    size = cells = 0
    for root in range(num_vertices - 1, -1, -1):
        if parent[root] >= 0:
            continue
        parent[root] = root
        stack[0] = root
        height = 1
        while height:
            height -= 1
            z = stack[height]
            for i in range(starts[z], starts[z + 1]):
                other = neighbors[i]
                if parent[other] < 0:
                    parent[other] = z
                    used[twin[i]] = True
                    stack[height] = other
                    height += 1
                elif not used[i]:
                    for j in range(starts[other], starts[other + 1]):
                        if used[j]:
                            mark[neighbors[j]] = cells
                    vertices = grown(vertices, size + 2)
                    vertices[size] = other
                    vertices[size + 1] = z
                    size += 2
                    p = parent[z]
                    while mark[p] != cells:
                        vertices = grown(vertices, size + 2)
                        vertices[size] = p
                        size += 1
                        p = parent[p]
                    vertices = grown(vertices, size + 1)
                    vertices[size] = p
                    size += 1
                    cells += 1
                    offsets = grown(offsets, cells + 1)
                    offsets[cells] = size
                    used[twin[i]] = True
    return vertices[:size], offsets[: cells + 1]


@njit(cache=True)
@no_type_check
def _of_each(vertex_offsets, edge_offsets, edges):
    """The cycles of each graph: vertices, offsets, and the offsets of each graph's cycles."""
    count = len(vertex_offsets) - 1
    vertices = np.empty(64, np.int64)
    offsets = np.zeros(16, np.int64)
    of_graph = np.zeros(count + 1, np.int64)
    size = 0
    for graph in range(count):
        found, ends = fundamental_cycles(
            vertex_offsets[graph + 1] - vertex_offsets[graph],
            edges[edge_offsets[graph] : edge_offsets[graph + 1]],
        )
        cells = of_graph[graph]
        of_graph[graph + 1] = cells + len(ends) - 1
        vertices = grown(vertices, size + len(found))
        offsets = grown(offsets, of_graph[graph + 1] + 1)
        copy_to(vertices, size, found)
        for cell in range(1, len(ends)):
            offsets[cells + cell] = ends[cell] + size
        size += len(found)
    return vertices[:size], offsets[: of_graph[-1] + 1], of_graph
