"""The graph itself as a complex, and faces attached along its cycles."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int8, Int64
from scipy import sparse

from cellformer.complexes.cell_complex import Boundary, CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.many.ragged_graphs import RaggedGraphs
from cellformer.complexes.polygons import edge_boundary
from cellformer.lifting.lift import Lifted, describe


@dataclass(frozen=True)
class Skeleton:
    """The graph as a complex of dimension 1: its vertices and edges, no faces."""

    def __call__(self, graph: Graph) -> CellComplex:
        """Lifts a graph of any size in linear time."""
        return with_boundaries(graph, (edge_boundary(graph.num_vertices, graph.edges),))

    def many(self, graphs: RaggedGraphs) -> Lifted:
        """Lifts each graph of a collection."""
        return Lifted(RaggedComplexes(skeletons(graphs), np.zeros(0, np.int8)), {})


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
    edge, signs = _sides(graph.num_vertices, graph.edges, vertices, offsets, describe(graph))
    faces = sparse.csc_array(
        (signs, edge.astype(np.int32), offsets.astype(np.int32)),
        shape=(graph.num_edges, len(offsets) - 1),
    )
    return with_boundaries(graph, (edge_boundary(graph.num_vertices, graph.edges), faces))


def attach_all_cycles(
    graphs: RaggedGraphs,
    vertices: Int64[np.ndarray, " corner"],
    offsets: Int64[np.ndarray, " face_plus_1"],
    face_offsets: Int64[np.ndarray, " graph_plus_1"],
) -> RaggedComplexes:
    """`attach_cycles` on many graphs: graph i gets the faces ``face_offsets[i]:...[i + 1]``.

    The vertices of a cycle are numbered within its graph. Raises ValueError as `attach_cycles`
    does, with the vertices of all graphs numbered consecutively.
    """
    corners = np.diff(offsets[face_offsets])
    united = vertices + np.repeat(graphs.vertex_offsets[:-1], corners)
    edge, signs = _sides(graphs.num_vertices, graphs.united_edges, united, offsets, "graphs")
    edge -= np.repeat(graphs.edge_offsets[:-1], corners)
    faces = RaggedRank.bare(face_offsets, offsets, edge.astype(np.int32), signs)
    return RaggedComplexes((*skeletons(graphs), faces), np.zeros(0, np.int8))


def skeletons(graphs: RaggedGraphs) -> tuple[RaggedRank, RaggedRank]:
    """The vertices and the edges of many graphs, with their features."""
    count = len(graphs.edges)
    vertices = RaggedRank.bare(
        graphs.vertex_offsets,
        np.zeros(graphs.num_vertices + 1, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.int8),
    )
    edges = RaggedRank.bare(
        graphs.edge_offsets,
        np.arange(0, 2 * count + 1, 2),
        graphs.edges.ravel().astype(np.int32),
        np.tile(np.array([-1, 1], np.int8), count),
    )
    return (
        replace(
            vertices,
            discrete=graphs.vertex_discrete,
            continuous=graphs.vertex_continuous,
            signed=graphs.vertex_signed,
        ),
        replace(
            edges,
            discrete=graphs.edge_discrete,
            continuous=graphs.edge_continuous,
            signed=graphs.edge_signed,
        ),
    )


def _sides(
    num_vertices: int,
    edges: Int64[np.ndarray, "edge 2"],
    vertices: Int64[np.ndarray, " corner"],
    offsets: Int64[np.ndarray, " face_plus_1"],
    where: str,
) -> tuple[Int64[np.ndarray, " corner"], Int8[np.ndarray, " corner"]]:
    """The edges of each face, ascending, and their incidence numbers; see `attach_cycles`."""
    lengths = np.diff(offsets)
    face = np.repeat(np.arange(len(lengths)), lengths)
    following = np.arange(1, len(vertices) + 1)
    following[offsets[1:][lengths > 0] - 1] = offsets[:-1][lengths > 0]
    here, there = vertices, vertices[following]
    edge = edge_numbers(num_vertices, edges, here, there)
    if (edge < 0).any():
        at = int((edge < 0).argmax())
        raise ValueError(
            f"{where}: face {face[at]} goes from vertex {here[at]} to {there[at]}, "
            "which is not an edge"
        )
    order = np.lexsort((edge, face))
    edge = edge[order]
    twice = (np.diff(edge) == 0) & (np.diff(face) == 0)
    if twice.any():
        at = int(twice.argmax())
        ends = tuple(edges[edge[at]].tolist())
        raise ValueError(f"{where}: face {face[at]} takes the edge {ends} twice")
    signs = np.where(here < there, 1, -1).astype(np.int8)[order]
    signs *= np.repeat(signs[offsets[:-1][lengths > 0]], lengths[lengths > 0])
    return edge, signs


def edge_numbers(
    num_vertices: int,
    edges: Int64[np.ndarray, "edge 2"],
    here: Int64[np.ndarray, " pair"],
    there: Int64[np.ndarray, " pair"],
) -> Int64[np.ndarray, " pair"]:
    """The number of the edge between two vertices, in either direction; -1 where there is none."""
    if not len(edges):
        return np.full(len(here), -1)
    keys = edges[:, 0] * num_vertices + edges[:, 1]
    order = np.argsort(keys)
    higher = np.maximum(here, there)
    wanted = np.minimum(here, there) * num_vertices + higher
    found = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    return np.where((keys[found] == wanted) & (higher < num_vertices), found, -1)
