"""Two-cells as closed walks on the vertices: from walks to ``B_2`` and back."""

import itertools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64
from scipy import sparse

from cellformer.complexes.cell_complex import Boundary, CellComplex


def edge_boundary(num_vertices: int, edges: Int64[np.ndarray, "edge 2"]) -> Boundary:
    """``B_1`` of edges that run from their first vertex (-1) to their second (+1)."""
    count = len(edges)
    tails_first = edges[:, 0] < edges[:, 1]  # rows of a column are stored in ascending order
    signs = np.where(tails_first[:, None], [-1, 1], [1, -1]).astype(np.int8)
    rows = np.sort(edges, axis=1).astype(np.int32)
    offsets = np.arange(0, 2 * count + 1, 2, dtype=np.int32)
    return sparse.csc_array((signs.ravel(), rows.ravel(), offsets), shape=(num_vertices, count))


def polygon_boundary(
    num_vertices: int, edges: Int64[np.ndarray, "edge 2"], polygons: Sequence[Sequence[int]]
) -> Boundary:
    """``B_2`` of polygons, each oriented in the order in which its vertices are listed.

    ``edges`` are rows (low, high). Raises ValueError, naming the polygon, if it has fewer than
    three vertices or one twice, or if two vertices in sequence are not joined by an edge.
    """
    lengths = np.array([len(polygon) for polygon in polygons], np.int64)
    owner = np.repeat(np.arange(len(polygons)), lengths)
    starts = np.cumsum(lengths) - lengths
    here = np.array([vertex for polygon in polygons for vertex in polygon], np.int64)
    if (lengths < 3).any():
        raise ValueError(f"polygon {int((lengths < 3).argmax())} has fewer than three vertices")
    following = np.arange(1, len(here) + 1)
    following[starts + lengths - 1] = starts
    there = here[following]
    order = np.lexsort((here, owner))
    twice = (np.diff(owner[order]) == 0) & (np.diff(here[order]) == 0)
    if twice.any():
        raise ValueError(f"polygon {owner[order][:-1][twice][0]} has a vertex twice")

    keys = edges[:, 0] * num_vertices + edges[:, 1]
    by_key = np.argsort(keys)
    sides = np.minimum(here, there) * num_vertices + np.maximum(here, there)
    found = np.searchsorted(keys[by_key], sides)
    known = np.isin(sides, keys) & (here >= 0) & (here < num_vertices)
    if not known.all():
        side = int((~known).argmax())
        raise ValueError(
            f"polygon {owner[side]} goes from vertex {here[side]} to vertex {there[side]}, "
            "but no edge joins them"
        )
    matrix = sparse.csc_array(
        (
            np.where(here < there, 1, -1).astype(np.int8),
            by_key[found].astype(np.int32),
            np.concatenate([starts, [len(here)]]).astype(np.int32),
        ),
        shape=(len(edges), len(polygons)),
    )
    matrix.sort_indices()
    return matrix


def edge_ends(cells: CellComplex) -> Int64[np.ndarray, "edge 2"]:
    """The vertices (tail, head) of every edge."""
    boundary = cells.boundary(1)
    if not boundary.shape[1]:
        return np.zeros((0, 2), np.int64)
    pairs = boundary.indices.reshape(-1, 2).astype(np.int64)
    backward = boundary.data.reshape(-1, 2)[:, 0] > 0
    ends: Int64[np.ndarray, "edge 2"] = np.where(backward[:, None], pairs[:, ::-1], pairs)
    return ends


def boundary_walks(cells: CellComplex) -> list[list[list[int]]]:
    """For every 2-cell, the closed walks that make up its boundary, along its orientation.

    A polygon has one walk, which begins with its lowest-numbered edge. A 2-cell with holes has
    several, one whose boundary meets itself passes a vertex more than once, and one without
    edges has none.
    """
    ends = edge_ends(cells).tolist()
    boundary = cells.boundary(2)
    offsets, edges, signs = (
        boundary.indptr.tolist(),
        boundary.indices.tolist(),
        boundary.data.tolist(),
    )
    faces = []
    for start, stop in itertools.pairwise(offsets):
        sides = [
            ends[edge] if sign > 0 else ends[edge][::-1]
            for edge, sign in sorted(zip(edges[start:stop], signs[start:stop], strict=True))
        ]
        faces.append(_closed_walks(sides))
    return faces


def is_polygon(walks: Sequence[Sequence[int]]) -> bool:
    """Whether the boundary of a 2-cell is one cycle without repeated vertices."""
    return len(walks) == 1 and len(set(walks[0])) == len(walks[0])


def _closed_walks(sides: list[list[int]]) -> list[list[int]]:
    # As many sides leave a vertex as reach it (B_1 B_2 = 0), so a walk ends only where it began.
    leaving: dict[int, list[int]] = {}
    for tail, head in reversed(sides):
        leaving.setdefault(tail, []).append(head)
    walks = []
    for first, _ in sides:
        if not leaving[first]:
            continue
        walk = [first]
        while (vertex := leaving[walk[-1]].pop()) != first:
            walk.append(vertex)
        walks.append(walk)
    return walks
