"""Complexes to encode: named edge cases, random ones, and the symmetries of a complex."""

import itertools
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from cellformer.complexes.cell_complex import CellComplex

Relabeled = tuple[CellComplex, list[np.ndarray], list[np.ndarray]]


def simplicial(tops: Iterable[tuple[int, ...]], num_vertices: int, dim: int) -> CellComplex:
    """The closure of some simplices; `dim` may declare ranks that stay empty."""
    ranks: list[list[tuple[int, ...]]] = [[(v,) for v in range(num_vertices)]]
    for rank in range(1, dim + 1):
        faces = {f for top in tops for f in itertools.combinations(sorted(top), rank + 1)}
        ranks.append(sorted(faces))
    boundaries = []
    for below, above in itertools.pairwise(ranks):
        place = {face: row for row, face in enumerate(below)}
        boundary = np.zeros((len(below), len(above)), np.int64)
        for column, cell in enumerate(above):
            for left_out in range(len(cell)):
                face = cell[:left_out] + cell[left_out + 1 :]
                boundary[place[face], column] = (-1) ** left_out
        boundaries.append(boundary)
    return CellComplex.from_boundaries(boundaries, num_vertices=num_vertices)


def squares() -> CellComplex:
    """Two squares side by side and a pendant edge.

    0 - 1 - 2 - 6
    | a | b |
    3 - 4 - 5
    """
    edges = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5), (2, 6)]
    ends = np.zeros((7, 8), np.int64)
    for column, (low, high) in enumerate(edges):
        ends[low, column], ends[high, column] = -1, 1
    faces = np.zeros((8, 2), np.int64)
    faces[[0, 5, 2, 4], 0] = 1, 1, -1, -1
    faces[[1, 6, 3, 5], 1] = 1, 1, -1, -1
    return CellComplex.from_boundaries([ends, faces])


def pillow() -> CellComplex:
    """Two triangles glued along their whole boundary: two 2-cells share three edges."""
    ends = np.array([[-1, -1, 0], [1, 0, -1], [0, 1, 1]])
    return CellComplex.from_boundaries([ends, np.array([[1, 1], [-1, -1], [1, 1]])])


NAMED: dict[str, Callable[[], CellComplex]] = {
    "nothing": lambda: simplicial([], 0, 2),
    "vertex": lambda: simplicial([], 1, 0),
    "vertex with empty ranks": lambda: simplicial([], 1, 2),
    "two vertices": lambda: simplicial([(0, 1)], 2, 1),
    "three vertices": lambda: simplicial([(0, 1), (1, 2)], 3, 1),
    "edgeless": lambda: simplicial([], 5, 1),
    "hollow triangle": lambda: simplicial([(0, 1), (1, 2), (0, 2)], 3, 1),
    "hollow triangle, empty rank 2": lambda: simplicial([(0, 1), (1, 2), (0, 2)], 3, 2),
    "filled triangle": lambda: simplicial([(0, 1, 2)], 3, 2),
    "two triangles": lambda: simplicial([(0, 1, 2), (3, 4, 5)], 6, 2),
    "triangle, edge and vertex": lambda: simplicial([(0, 1, 2), (3, 4)], 6, 2),
    "squares": squares,
    "pillow": pillow,
    "tetrahedra": lambda: simplicial([(0, 1, 2, 3), (1, 2, 3, 4), (4, 5)], 7, 3),
    "star of 101": lambda: simplicial([(0, leaf) for leaf in range(1, 102)], 102, 1),
    "complete": lambda: simplicial([(0, 1, 2, 3, 4, 5)], 6, 2),
}


@pytest.fixture(params=NAMED)
def named(request: pytest.FixtureRequest) -> CellComplex:
    return NAMED[request.param]()


@pytest.fixture(scope="session")
def all_named() -> list[CellComplex]:
    return [make() for make in NAMED.values()]


@pytest.fixture(scope="session")
def make() -> Callable[[str], CellComplex]:
    return lambda name: NAMED[name]()


@pytest.fixture(scope="session")
def random_complex() -> Callable[[int], CellComplex]:
    """A random simplicial complex of dimension 1 to 3, often disconnected, from a seed."""

    def draw(seed: int) -> CellComplex:
        random = np.random.default_rng(seed)
        vertices, dim = int(random.integers(4, 10)), int(random.integers(1, 4))
        tops = [
            tuple(random.choice(vertices, int(random.integers(2, dim + 2)), replace=False).tolist())
            for _ in range(int(random.integers(2, 9)))
        ]
        return simplicial(tops, vertices, dim)

    return draw


@pytest.fixture(scope="session")
def transformed() -> Callable[[CellComplex, int], Relabeled]:
    """The complex with cells renumbered and orientations flipped, by a seed.

    Cell `orders[k][i]` of the old complex is cell i of the new one, times `signs[k][i]`.
    """

    def transform(cells: CellComplex, seed: int) -> Relabeled:
        random = np.random.default_rng(seed)
        orders = [random.permutation(count) for count in cells.num_cells]
        signs = [random.choice([-1, 1], count) for count in cells.num_cells]
        signs[0][:] = 1
        boundaries = [
            (cells.boundary(rank).toarray()[orders[rank - 1]][:, orders[rank]])
            * signs[rank - 1][:, None]
            * signs[rank]
            for rank in range(1, cells.dim + 1)
        ]
        new = CellComplex.from_boundaries(boundaries, num_vertices=cells.num_vertices)
        return new, orders, signs

    return transform


@pytest.fixture(scope="session")
def closure_matrix() -> Callable[[CellComplex], np.ndarray]:
    """Adjacency of the barycentric 1-skeleton, by walking down from each cell with Python sets."""

    def build(cells: CellComplex) -> np.ndarray:
        starts = np.concatenate([[0], np.cumsum(cells.num_cells)]).astype(int)
        adjacency = np.zeros((starts[-1], starts[-1]))
        for rank, count in enumerate(cells.num_cells):
            for cell in range(count):
                faces = {cell}
                for lower in range(rank, 0, -1):
                    boundary = cells.boundary(lower).toarray()
                    faces = {int(f) for c in faces for f in np.flatnonzero(boundary[:, c])}
                    for face in faces:
                        pair = starts[rank] + cell, starts[lower - 1] + face
                        adjacency[pair] = adjacency[pair[::-1]] = 1
        return adjacency

    return build
