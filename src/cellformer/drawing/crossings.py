"""Edges that cross in the plane, and how a planar graph is drawn without any."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
from jaxtyping import Bool, Float64, Int64
from networkx.algorithms.planar_drawing import triangulate_embedding
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

MOST_UNTANGLED = 600
"""Vertices of a component that is untangled: the time grows with their number squared."""
_MOVES = 2500
_TOUCHING, _NEAR, _ROOM = 1e-6, 0.1, 0.5  # of the length of an edge
_PUSH = 3.0  # the weight of a vertex without room
_STILL = 1e-3  # of the length of an edge: less is no move

Points = Float64[np.ndarray, "vertex 2"]
Edges = Int64[np.ndarray, "edge 2"]


def crossings(points: Points, edges: Edges) -> int:
    """The number of pairs of edges without a common vertex that meet in the plane."""
    a, b = points[edges[:, 0]], points[edges[:, 1]]
    found = 0
    for place in range(len(edges)):
        one, others = slice(place, place + 1), slice(place + 1, None)
        apart = _apart(edges[one], edges[others])
        found += int((apart & _meeting(a[one], b[one], a[others], b[others], _TOUCHING)).sum())
    return found


def untangled(graph: "nx.Graph[int]", edges: Edges, points: Points) -> Points:
    """The points, or, where edges of a planar graph cross, others by which none do.

    Vertices of the longest face are set on a circle and every other one amid its neighbors, which
    crosses nothing (Tutte, "How to draw a graph", 1963). Then distances are pulled towards those
    in the graph, by stress majorization one vertex at a time (Gansner, Koren and North, 2005),
    where a vertex goes only as far as no edges come to cross. Where all vertices can lie on the
    outside, as those of most molecules can, they do: no ring is drawn within another one.
    """
    count = len(points)
    if count > MOST_UNTANGLED or not crossings(points, edges):
        return points
    embedding = _all_outside(graph) or nx.check_planarity(graph)[1]
    if not isinstance(embedding, nx.PlanarEmbedding):
        return points
    placed = _amid_neighbors(embedding)
    matrix = csr_array((np.ones(len(edges)), edges.T), shape=(count, count))
    distance = shortest_path(matrix, directed=False, unweighted=True)
    weight = 1 / np.maximum(distance, 1) ** 2
    np.fill_diagonal(weight, 0)
    own = np.linalg.norm(placed[:, None] - placed[None], axis=2)
    placed *= float((weight * distance * own).sum() / (weight * own**2).sum())
    fans = [_Fan.of(vertex, edges) for vertex in range(count)]
    for _ in range(int(np.clip(_MOVES / count, 6, 60))):
        before = placed.copy()
        for fan in fans:
            fan.move(placed, distance[fan.vertex], weight[fan.vertex])
        if np.abs(placed - before).max() < _STILL:
            break
    return placed


def _all_outside(graph: "nx.Graph[int]") -> "nx.PlanarEmbedding[int] | None":
    """An embedding with one face that has all vertices; None for a graph that has none.

    With one more vertex, which is joined to all others, such a graph is still planar.
    """
    hub = graph.number_of_nodes()
    joined = graph.copy()
    joined.add_edges_from((hub, vertex) for vertex in list(graph))
    _, embedding = nx.check_planarity(joined)
    if not isinstance(embedding, nx.PlanarEmbedding):
        return None
    kept: nx.PlanarEmbedding[int] = nx.PlanarEmbedding()
    kept.add_nodes_from(graph)
    kept.set_data({v: [w for w in embedding.neighbors_cw_order(v) if w != hub] for v in graph})
    return kept


def _amid_neighbors(embedding: "nx.PlanarEmbedding[int]") -> Points:
    """Tutte's drawing of the embedding with its inner faces cut into triangles."""
    triangulated, outer = triangulate_embedding(embedding, fully_triangulate=False)
    count = triangulated.number_of_nodes()
    angles = 2 * np.pi * np.arange(len(outer)) / len(outer)
    pairs = np.array(triangulated.edges, np.int64)  # both ways
    system = np.zeros((count, count))
    system[pairs[:, 0], pairs[:, 1]] = -1
    np.fill_diagonal(system, -system.sum(axis=1))
    system[outer] = np.eye(count)[outer]
    fixed = np.zeros((count, 2))
    fixed[outer] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.asarray(np.linalg.solve(system, fixed), np.float64)


@dataclass(frozen=True, eq=False)
class _Fan:
    """A vertex with its neighbors, and each other edge with one that it has no vertex of."""

    vertex: int
    neighbor: Int64[np.ndarray, " pair"]
    other: Int64[np.ndarray, "pair 2"]

    @classmethod
    def of(cls, vertex: int, edges: Edges) -> "_Fan":
        own = edges[(edges == vertex).any(axis=1)]
        neighbors = np.where(own[:, 0] == vertex, own[:, 1], own[:, 0])
        mine, others = np.nonzero(_apart(own, edges))
        return cls(vertex, neighbors[mine], edges[others])

    def move(
        self,
        points: Points,
        distance: Float64[np.ndarray, " vertex"],
        weight: Float64[np.ndarray, " vertex"],
    ) -> None:
        """Moves the vertex to where its distances are better kept, or a part of the way."""
        before = points[self.vertex].copy()
        away = before - points
        length = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
        crowded = (length[:, 0] < _ROOM) & (weight > 0)
        weight = np.where(crowded, _PUSH, weight)
        target = (weight @ (points + distance[:, None] * away / length)) / weight.sum()
        tried = before + np.array([[0.0], [1.0], [0.4], [0.1]]) * (target - before)
        ends = points[self.neighbor], points[self.other[:, 0]], points[self.other[:, 1]]
        high, low = np.maximum(ends[0], tried.max(axis=0)), np.minimum(ends[0], tried.min(axis=0))
        within = (np.minimum(ends[1], ends[2]) < high + _NEAR).all(axis=1)
        within &= (np.maximum(ends[1], ends[2]) > low - _NEAR).all(axis=1)
        ends = tuple(each[within] for each in ends)
        now, *met = np.atleast_1d(_meeting(tried[:, None], *ends, _NEAR).any(axis=1)).tolist()
        if now:  # what is too near already may stay so, or nothing would ever come apart
            met = np.atleast_1d(_meeting(tried[1:, None], *ends, _TOUCHING).any(axis=1)).tolist()
        if not all(met):
            points[self.vertex] = tried[1 + met.index(False)]


def _apart(
    own: Int64[np.ndarray, "own 2"], edges: Int64[np.ndarray, "edge 2"]
) -> Bool[np.ndarray, "own edge"]:
    """Which edges have no vertex in common."""
    return np.asarray(~(own[:, None, :, None] == edges[None, :, None, :]).any(axis=(2, 3)))


def _meeting(
    a: Float64[np.ndarray, "*_ 2"],
    b: Float64[np.ndarray, "*_ 2"],
    c: Float64[np.ndarray, "*_ 2"],
    d: Float64[np.ndarray, "*_ 2"],
    slack: float,
) -> Bool[np.ndarray, "*_"]:
    """Whether lines from a to b meet those from c to d, or come as near as ``slack``."""
    sides = (_side(a, b, c), _side(a, b, d)), (_side(c, d, a), _side(c, d, b))
    # On one straight line, edges that are far from each other pass the tests of their sides.
    begin = np.maximum(np.minimum(a, b), np.minimum(c, d))
    end = np.minimum(np.maximum(a, b), np.maximum(c, d))
    meeting = np.asarray((begin < end + slack).all(axis=-1))
    for one, other in sides:
        meeting &= (np.minimum(one, other) < slack) & (np.maximum(one, other) > -slack)
    return meeting


def _side(
    a: Float64[np.ndarray, "*_ 2"],
    b: Float64[np.ndarray, "*_ 2"],
    point: Float64[np.ndarray, "*_ 2"],
) -> Float64[np.ndarray, "*_"]:
    """How far points are to the left of lines."""
    along, beside = b - a, point - a
    length = np.maximum(np.sqrt((along**2).sum(axis=-1)), 1e-9)
    area = along[..., 0] * beside[..., 1] - along[..., 1] * beside[..., 0]
    return np.asarray(area / length, np.float64)
