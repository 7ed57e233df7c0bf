"""The graph itself as a complex, and faces attached along its cycles."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64
from scipy import sparse

from cellformer.complexes.cell_complex import Boundary, CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.polygons import edge_boundary
from cellformer.lifting.lift import describe


@dataclass(frozen=True)
class Skeleton:
    """The graph as a complex of dimension 1: its vertices and edges, no faces."""

    def __call__(self, graph: Graph) -> CellComplex:
        """Lifts a graph of any size in linear time."""
        return with_boundaries(graph, (edge_boundary(graph.num_vertices, graph.edges),))


def with_boundaries(graph: Graph, boundaries: tuple[Boundary, ...]) -> CellComplex:
    """The complex with these boundaries and the features, positions and name of the graph."""
    features = [graph.vertex_features, graph.edge_features, *[None] * (len(boundaries) - 1)]
    return CellComplex.unchecked(
        graph.num_vertices, boundaries, features, graph.positions, graph.name
    )


def attach_cycles(
    graph: Graph, vertices: Int64[np.ndarray, " corner"], offsets: Int64[np.ndarray, " face_plus_1"]
) -> CellComplex:
    """The graph with face i filled in along the cycle ``vertices[offsets[i]:offsets[i + 1]]``.

    A cycle is a closed walk: each vertex is joined by an edge to the next, and the last to the
    first. Column i of ``B_2`` is face i, oriented so that its edge of the lowest number has the
    sign +1. The time is linear in the number of corners, apart from sorting.

    Raises ValueError, naming the face, if a walk leaves the graph or takes an edge twice.
    """
    lengths = np.diff(offsets)
    face = np.repeat(np.arange(len(lengths)), lengths)
    following = np.arange(1, len(vertices) + 1)
    following[offsets[1:][lengths > 0] - 1] = offsets[:-1][lengths > 0]
    here, there = vertices, vertices[following]
    edge = edge_numbers(graph, here, there)
    if (edge < 0).any():
        at = int((edge < 0).argmax())
        raise ValueError(
            f"{describe(graph)}: face {face[at]} goes from vertex {here[at]} to {there[at]}, "
            "which is not an edge"
        )
    order = np.lexsort((edge, face))
    edge = edge[order]
    twice = (np.diff(edge) == 0) & (np.diff(face) == 0)
    if twice.any():
        at = int(twice.argmax())
        ends = tuple(graph.edges[edge[at]].tolist())
        raise ValueError(f"{describe(graph)}: face {face[at]} takes the edge {ends} twice")
    signs = np.where(here < there, 1, -1).astype(np.int8)[order]
    signs *= np.repeat(signs[offsets[:-1][lengths > 0]], lengths[lengths > 0])
    faces = sparse.csc_array(
        (signs, edge.astype(np.int32), offsets.astype(np.int32)),
        shape=(graph.num_edges, len(lengths)),
    )
    return with_boundaries(graph, (edge_boundary(graph.num_vertices, graph.edges), faces))


def edge_numbers(
    graph: Graph, here: Int64[np.ndarray, " pair"], there: Int64[np.ndarray, " pair"]
) -> Int64[np.ndarray, " pair"]:
    """The number of the edge between two vertices, in either direction; -1 where there is none."""
    if not graph.num_edges:
        return np.full(len(here), -1)
    keys = graph.edges[:, 0] * graph.num_vertices + graph.edges[:, 1]
    order = np.argsort(keys)
    higher = np.maximum(here, there)
    wanted = np.minimum(here, there) * graph.num_vertices + higher
    found = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    return np.where((keys[found] == wanted) & (higher < graph.num_vertices), found, -1)
