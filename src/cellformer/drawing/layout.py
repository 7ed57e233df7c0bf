"""Where to draw vertices that have no positions."""

import networkx as nx
import numpy as np
from jaxtyping import Float64, Int64
from scipy import sparse
from scipy.sparse.csgraph import connected_components, shortest_path

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_ends
from cellformer.drawing.crossings import crossings, untangled

LARGE = 150
"""Above this many vertices the time of the better layout (their number squared and more) shows."""


PIVOTS = 50


def layout(cells: CellComplex) -> Float64[np.ndarray, "vertex 2"]:
    """Positions in the plane by which edges are about one long; the same at every call.

    Every connected component of the 1-skeleton is laid out by itself, turned so that it lies
    wide, and set beside the others in rows. Its layout starts from distances to some pivots
    (Brandes and Pich, "Eigensolver methods for progressive multidimensional scaling", 2006) and
    is improved by the method of Kamada and Kawai, or, where it is large, by that of Fruchterman
    and Reingold. If edges cross then that need not, they are `untangled`, and from
    there a small layout is improved once more.
    """
    ends = edge_ends(cells)
    count = cells.num_vertices
    if not count:
        return np.zeros((0, 2))
    graph = sparse.coo_array((np.ones(len(ends)), ends.T), shape=(count, count))
    _, component = connected_components(graph, directed=False)
    members = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component))[:-1])
    edges_of = component[ends[:, 0]]
    placed = [
        _component(len(vertices), np.searchsorted(vertices, ends[edges_of == number]))
        for number, vertices in enumerate(members)
    ]
    return _pack(count, members, placed)


def _component(count: int, edges: Int64[np.ndarray, "edge 2"]) -> Float64[np.ndarray, "vertex 2"]:
    if count == 1:
        return np.zeros((1, 2))
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges.tolist())
    start = dict(enumerate(_pivot_scaling(count, edges)))
    if count <= LARGE:
        placed = nx.kamada_kawai_layout(graph, pos=start)
    else:
        placed = nx.spring_layout(graph, pos=start, iterations=50, seed=0)
    points: Float64[np.ndarray, "vertex 2"]
    points = np.array([placed[vertex] for vertex in range(count)], np.float64)
    if count <= LARGE and (apart := untangled(graph, edges, points)) is not points:
        placed = nx.kamada_kawai_layout(graph, pos=dict(enumerate(apart)))
        again = np.array([placed[vertex] for vertex in range(count)], np.float64)
        points = apart if crossings(again, edges) else again
    elif count > LARGE:
        points = untangled(graph, edges, points)
    points -= points.mean(axis=0)
    _, _, axes = np.linalg.svd(points, full_matrices=False)
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    points = points @ axes.T
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    typical = float(np.median(lengths))
    points /= typical if typical > 0 else 1.0
    return points


def _pivot_scaling(
    count: int, edges: Int64[np.ndarray, "edge 2"]
) -> Float64[np.ndarray, "vertex 2"]:
    graph = sparse.coo_array((np.ones(len(edges)), edges.T), shape=(count, count)).tocsr()
    distances = np.zeros((count, 0))
    pivot = 0
    for _ in range(min(count, PIVOTS)):
        row = shortest_path(graph, directed=False, unweighted=True, indices=pivot)
        distances = np.column_stack([distances, row])
        pivot = int(distances.min(axis=1).argmax())
    squares = distances**2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True)
    centered += squares.mean()
    left, scale, _ = np.linalg.svd(-centered / 2, full_matrices=False)
    points = np.zeros((count, 2))
    points[:, : min(2, len(scale))] = left[:, :2] * np.sqrt(scale[:2])
    # Vertices at the same distances from everything coincide; a spiral tells them apart.
    angles = 2.4 * np.arange(count)  # about the golden angle
    return points + 0.1 * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _pack(
    count: int, members: list[Int64[np.ndarray, " _"]], placed: list[Float64[np.ndarray, "_ 2"]]
) -> Float64[np.ndarray, "vertex 2"]:
    """Components in rows from the top, the tallest first, with a gap of one between them."""
    positions = np.zeros((count, 2))
    sizes = np.array([np.ptp(points, axis=0) + 1 for points in placed])
    width = max(float(sizes[:, 0].max()), 1.6 * float(np.sqrt(sizes.prod(axis=1).sum())))
    left = top = row = 0.0
    for index in np.lexsort((-sizes[:, 0], -sizes[:, 1])):
        if left and left + sizes[index, 0] > width:
            left, top, row = 0.0, top - row, 0.0
        corner = np.array([left, top - sizes[index, 1]])
        positions[members[index]] = placed[index] - placed[index].min(axis=0) + corner
        left += float(sizes[index, 0])
        row = max(row, float(sizes[index, 1]))
    return positions
