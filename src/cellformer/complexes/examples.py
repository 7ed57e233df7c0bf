"""Small complexes, drawn, for tests and tutorials.

Edges run from the lower to the higher vertex number and are listed in that order; a polygon is
traversed from its lowest vertex, over its first edge in that edge's direction.
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_boundary, polygon_boundary


def vertex() -> CellComplex:
    """One vertex and nothing else; dimension 0.

    ::

        0
    """
    return edgeless(1)


def edgeless(num_vertices: int) -> CellComplex:
    """Vertices without edges; dimension 0.

    ::

        0   1   2
    """
    return CellComplex.from_boundaries([], num_vertices, name=f"edgeless {num_vertices}")


def path(num_vertices: int) -> CellComplex:
    """A path; dimension 1.

    ::

        0 --- 1 --- 2 --- 3
    """
    return _make(f"path {num_vertices}", num_vertices, itertools.pairwise(range(num_vertices)))


def cycle(num_vertices: int, filled: bool = True) -> CellComplex:
    """A polygon of three or more vertices, with its interior or without.

    ::

        3 --- 2
        |  #  |
        0 --- 1
    """
    if num_vertices < 3:
        raise ValueError(f"a cycle has at least 3 vertices, got {num_vertices}")
    around = range(num_vertices)
    edges = [*itertools.pairwise(around), (0, num_vertices - 1)]
    return _make(f"cycle {num_vertices}", num_vertices, edges, [around] if filled else None)


def triangle(filled: bool = True) -> CellComplex:
    """A triangle; its hollow one has a Hodge Laplacian of rank 0 with eigenvalues 0, 3, 3.

    ::

          2
         / \\
        0 - 1
    """
    return cycle(3, filled)


def house() -> CellComplex:
    """A filled square with a filled triangle on top, sharing an edge.

    ::

           4
          /#\\
         3---2
         | # |
         0---1
    """
    edges = [(0, 1), (0, 3), (1, 2), (2, 3), (2, 4), (3, 4)]
    positions = [(0, 0), (1, 0), (1, 1), (0, 1), (0.5, 1.8)]
    return _make("house", 5, edges, [(0, 1, 2, 3), (2, 3, 4)], positions)


def two_triangles() -> CellComplex:
    """Two filled triangles that do not touch.

    ::

          2       5
         /#\\     /#\\
        0---1   3---4
    """
    edges = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]
    return _make("two triangles", 6, edges, [(0, 1, 2), (3, 4, 5)])


def bow_tie() -> CellComplex:
    """A filled and a hollow triangle that share a vertex, and an isolated vertex.

    ::

        0       3
        |\\     /|
        |#  2   |   5
        |/     \\|
        1       4
    """
    edges = [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]
    return _make("bow tie", 6, edges, [(0, 1, 2)])


def tetrahedron(filled: bool = True) -> CellComplex:
    """Four vertices, six edges, four triangles, and one 3-cell if filled.

    ::

            3
           /|\\
          / | \\
         0--|--2
          \\ | /
            1
    """
    edges = list(itertools.combinations(range(4), 2))
    faces = list(itertools.combinations(range(4), 3))  # 012, 013, 023, 123
    positions = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]
    solid = [sparse.csc_array(np.array([[-1], [1], [-1], [1]]))] if filled else []
    return CellComplex.from_boundaries(
        [
            edge_boundary(4, np.array(edges)),
            polygon_boundary(4, np.array(edges), faces),
            *solid,
        ],
        positions=positions,
        name="tetrahedron",
    )


def grid(rows: int, columns: int) -> CellComplex:
    """Squares in a flat sheet of rows x columns; vertex (r, c) has number r (columns + 1) + c.

    ::

        6 --- 7 --- 8
        |  #  |  #  |
        3 --- 4 --- 5
        |  #  |  #  |
        0 --- 1 --- 2
    """
    across = columns + 1
    faces = [
        (v := r * across + c, v + 1, v + across + 1, v + across)
        for r in range(rows)
        for c in range(columns)
    ]
    numbers = np.arange((rows + 1) * across).reshape(rows + 1, across)
    edges = [
        *zip(numbers[:, :-1].ravel().tolist(), numbers[:, 1:].ravel().tolist(), strict=True),
        *zip(numbers[:-1].ravel().tolist(), numbers[1:].ravel().tolist(), strict=True),
    ]
    positions = [(c, r) for r in range(rows + 1) for c in range(across)]
    return _make(f"grid {rows} x {columns}", numbers.size, edges, faces, positions)


def torus_grid(rows: int, columns: int) -> CellComplex:
    """Squares on a torus, at least 3 x 3; one component, two independent loops, one void.

    ::

        |     |     |
        6 --- 7 --- 8 ---   to 6
        |  #  |  #  |  #
        3 --- 4 --- 5 ---   to 3
        |  #  |  #  |  #
        0 --- 1 --- 2 ---   to 0; the upper ends to 0, 1, 2
    """
    if min(rows, columns) < 3:
        raise ValueError(f"a torus of squares has at least 3 x 3, got {rows} x {columns}")
    numbers = np.arange(rows * columns).reshape(rows, columns)
    right, up = np.roll(numbers, -1, axis=1), np.roll(numbers, -1, axis=0)
    faces = np.stack([numbers, right, np.roll(right, -1, axis=0), up], axis=-1).reshape(-1, 4)
    edges = np.concatenate(
        [np.stack([numbers, right], -1).reshape(-1, 2), np.stack([numbers, up], -1).reshape(-1, 2)]
    )
    large, small = np.meshgrid(
        2 * np.pi * np.arange(columns) / columns, 2 * np.pi * np.arange(rows) / rows
    )
    radius = 2 + np.cos(small)
    positions = np.stack(
        [radius * np.cos(large), radius * np.sin(large), np.sin(small)], axis=-1
    ).reshape(-1, 3)
    return _make(
        f"torus {rows} x {columns}", numbers.size, edges.tolist(), faces.tolist(), positions
    )


def petersen() -> CellComplex:
    """The Petersen graph with its twelve pentagons filled; every edge lies in four of them.

    ::

        outer pentagon 0 1 2 3 4, spokes i - i+5, inner pentagram 5 7 9 6 8
    """
    edges = [tuple(sorted(e)) for i in range(5) for e in _petersen_edges(i)]
    neighbors: list[set[int]] = [set() for _ in range(10)]
    for a, b in edges:
        neighbors[a].add(b)
        neighbors[b].add(a)
    # Girth five: every closed walk of five different vertices is a pentagon. Each is listed
    # once, from its lowest vertex towards the lower of that vertex's two neighbors.
    pentagons = [
        (a, b, c, d, e)
        for a in range(10)
        for b in sorted(neighbors[a])
        for c in sorted(neighbors[b] - {a})
        for d in sorted(neighbors[c] - {b})
        for e in sorted(neighbors[d] & neighbors[a] - {c})
        if a < min(b, c, d, e) and b < e
    ]
    angles = np.pi / 2 + 2 * np.pi * np.arange(5) / 5
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return _make("Petersen", 10, edges, pentagons, np.concatenate([2 * ring, ring]))


def _petersen_edges(i: int) -> list[tuple[int, int]]:
    return [(i, (i + 1) % 5), (i, i + 5), (i + 5, (i + 2) % 5 + 5)]


def _make(
    name: str,
    num_vertices: int,
    edges: Iterable[Sequence[int]],
    polygons: Sequence[Sequence[int]] | None = None,
    positions: ArrayLike | None = None,
) -> CellComplex:
    """Sorts the edges and starts every polygon at its lowest vertex, towards the lower neighbor."""
    rows = np.array(sorted(sorted(edge) for edge in edges), np.int64)
    rows = rows.reshape(-1, 2)
    boundaries = [edge_boundary(num_vertices, rows)]
    if polygons is not None:
        canonical = [_from_lowest(list(polygon)) for polygon in polygons]
        boundaries.append(polygon_boundary(num_vertices, rows, canonical))
    return CellComplex.from_boundaries(boundaries, positions=positions, name=name)


def _from_lowest(polygon: list[int]) -> list[int]:
    start = polygon.index(min(polygon))
    turned = polygon[start:] + polygon[:start]
    return turned if turned[1] < turned[-1] else [turned[0], *turned[:0:-1]]
