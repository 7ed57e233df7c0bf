"""Many graphs as a few flat arrays: what a lifting of many graphs at once starts from."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int32, Int64, Integer

from cellformer.complexes.features import Features
from cellformer.complexes.many.ragged import ranges


@dataclass(frozen=True, eq=False)
class RaggedGraphs:
    """An ordered collection of simple graphs, one after the other; see `Graph`.

    Vertices are numbered within their graph. Graph i has the vertices
    ``vertex_offsets[i]:vertex_offsets[i + 1]``, and likewise its edges.
    """

    vertex_offsets: Int64[np.ndarray, " graph_plus_1"]
    edge_offsets: Int64[np.ndarray, " graph_plus_1"]
    edges: Int64[np.ndarray, "edge 2"]  # low < high, no row twice in one graph
    vertex_discrete: Int32[np.ndarray, "vertex vertex_discrete"]
    vertex_continuous: Float32[np.ndarray, "vertex vertex_continuous"]
    edge_discrete: Int32[np.ndarray, "edge edge_discrete"]
    edge_continuous: Float32[np.ndarray, "edge edge_continuous"]
    vertex_signed: Float32[np.ndarray, "vertex vertex_signed"]  # as in `Features`
    edge_signed: Float32[np.ndarray, "edge edge_signed"]

    def __len__(self) -> int:
        return len(self.vertex_offsets) - 1

    @property
    def num_vertices(self) -> int:
        """Of all graphs together."""
        return int(self.vertex_offsets[-1])

    @property
    def united_edges(self) -> Int64[np.ndarray, "edge 2"]:
        """The edges with the vertices of all graphs numbered consecutively."""
        shift = np.repeat(self.vertex_offsets[:-1], np.diff(self.edge_offsets))
        united: Int64[np.ndarray, "edge 2"] = self.edges + shift[:, None]
        return united

    def take(self, graphs: Int64[np.ndarray, " chosen"]) -> "RaggedGraphs":
        """Some of the graphs, in this order."""
        vertices, vertex_offsets = ranges(
            self.vertex_offsets[graphs], self.vertex_offsets[graphs + 1]
        )
        edges, edge_offsets = ranges(self.edge_offsets[graphs], self.edge_offsets[graphs + 1])
        return RaggedGraphs(
            vertex_offsets,
            edge_offsets,
            self.edges[edges],
            self.vertex_discrete[vertices],
            self.vertex_continuous[vertices],
            self.edge_discrete[edges],
            self.edge_continuous[edges],
            self.vertex_signed[vertices],
            self.edge_signed[edges],
        )

    @classmethod
    def from_edges(
        cls,
        vertex_offsets: Int64[np.ndarray, " graph_plus_1"],
        edge_offsets: Int64[np.ndarray, " graph_plus_1"],
        edges: Integer[np.ndarray, "edge 2"],
        vertex_features: Features,
        edge_features: Features,
    ) -> "RaggedGraphs":
        """As `Graph.from_edges` of each: loops and parallel edges are dropped, not counted.

        Raises ValueError, with the number of the graph, if an edge names a vertex it has not.
        """
        graph = np.repeat(np.arange(len(edge_offsets) - 1), np.diff(edge_offsets))
        pairs = np.sort(edges.astype(np.int64), axis=1)
        turned = edge_features.turned(np.where(edges[:, 0] > edges[:, 1], -1, 1))
        outside = (pairs[:, 0] < 0) | (pairs[:, 1] >= np.diff(vertex_offsets)[graph])
        if outside.any():
            edge = int(outside.argmax())
            raise ValueError(
                f"graph {graph[edge]}: the edge {tuple(edges[edge].tolist())} names a vertex "
                "that it has not"
            )
        shift = vertex_offsets[graph]
        keys = (pairs[:, 0] + shift) * int(vertex_offsets[-1]) + pairs[:, 1] + shift
        kept = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
        order = np.argsort(keys[kept], kind="stable")
        again = np.zeros(len(kept), np.bool_)
        again[order[1:]] = np.diff(keys[kept][order]) == 0  # stable: not the first of its kind
        kept = kept[~again]
        return cls(
            vertex_offsets,
            np.searchsorted(kept, edge_offsets),
            pairs[kept],
            vertex_features.discrete.astype(np.int32),
            vertex_features.continuous,
            edge_features.discrete[kept].astype(np.int32),
            edge_features.continuous[kept],
            vertex_features.signed,
            turned.signed[kept],
        )
