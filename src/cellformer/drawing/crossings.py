"""Edges that cross in the plane, and how a planar graph is drawn without any."""

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

Points = Float64[np.ndarray, "vertex 2"]
Edges = Int64[np.ndarray, "edge 2"]


def crossings(points: Points, edges: Edges) -> int:
    """The number of pairs of edges without a common vertex that meet in the plane."""
    return sum(
        int(_meeting(points, edges[place + 1 :], edges[[place]], _TOUCHING).sum())
        for place in range(len(edges))
    )


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
    incident = [edges[(edges == vertex).any(axis=1)] for vertex in range(count)]
    for _ in range(int(np.clip(_MOVES / count, 6, 60))):
        for vertex in range(count):
            _move(placed, edges, incident[vertex], vertex, distance[vertex], weight[vertex])
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


def _move(
    points: Points,
    edges: Edges,
    own: Int64[np.ndarray, "own 2"],
    vertex: int,
    distance: Float64[np.ndarray, " vertex"],
    weight: Float64[np.ndarray, " vertex"],
) -> None:
    """Moves a vertex to where its distances are better kept, or a part of the way."""
    before = points[vertex].copy()
    away = before - points
    length = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
    crowded = (length[:, 0] < _ROOM) & (weight > 0)
    weight = np.where(crowded, _PUSH, weight)
    target = (weight @ (points + distance[:, None] * away / length)) / weight.sum()
    # What is too near already may stay so, or nothing would ever come apart.
    slack = _TOUCHING if _meeting(points, edges, own, _NEAR).any() else _NEAR
    for share in (1.0, 0.4, 0.1):
        points[vertex] = before + share * (target - before)
        if not _meeting(points, edges, own, slack).any():
            return
    points[vertex] = before


def _meeting(
    points: Points, edges: Edges, own: Int64[np.ndarray, "own 2"], slack: float
) -> Bool[np.ndarray, "own edge"]:
    """Which edges meet which, or come as near as ``slack``; those with a common vertex do not."""
    apart: Bool[np.ndarray, "own edge"]
    apart = ~(own[:, None, :, None] == edges[None, :, None, :]).any(axis=(2, 3))
    a, b = (points[own[:, [end]]] for end in (0, 1))
    c, d = (points[edges[None, :, end]] for end in (0, 1))
    sides = (_side(a, b, c), _side(a, b, d)), (_side(c, d, a), _side(c, d, b))
    for one, other in sides:
        apart &= (np.minimum(one, other) < slack) & (np.maximum(one, other) > -slack)
    # On one straight line, edges that are far from each other pass both tests.
    begin = np.maximum(np.minimum(a, b), np.minimum(c, d))
    end = np.minimum(np.maximum(a, b), np.maximum(c, d))
    apart &= (begin < end + slack).all(axis=-1)
    return apart


def _side(
    a: Float64[np.ndarray, "_ _ 2"],
    b: Float64[np.ndarray, "_ _ 2"],
    point: Float64[np.ndarray, "_ _ 2"],
) -> Float64[np.ndarray, "_ _"]:
    """How far points are to the left of lines."""
    along, beside = b - a, point - a
    length = np.maximum(np.sqrt((along**2).sum(axis=-1)), 1e-9)
    area = along[..., 0] * beside[..., 1] - along[..., 1] * beside[..., 0]
    return np.asarray(area / length, np.float64)
