"""Random graphs and complexes for property tests, and exact comparison of two complexes."""

import functools
import itertools
import random

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.complexes.polygons import edge_boundary, polygon_boundary

NAMED = {
    "vertex": examples.vertex,
    "edgeless": lambda: examples.edgeless(3),
    "path": lambda: examples.path(4),
    "hollow triangle": lambda: examples.triangle(filled=False),
    "triangle": examples.triangle,
    "house": examples.house,
    "two triangles": examples.two_triangles,
    "bow tie": examples.bow_tie,
    "hollow tetrahedron": lambda: examples.tetrahedron(filled=False),
    "tetrahedron": examples.tetrahedron,
    "grid": lambda: examples.grid(2, 3),
    "torus": lambda: examples.torus_grid(3, 4),
    "Petersen": examples.petersen,
}
"""Every named complex once, by what to call it in a test's name."""


def _composite(function):
    """``st.composite`` for a function that calls the library.

    The shape checks of the library draw from Python's global generator, which Hypothesis forbids
    a strategy to move; so it is put back.
    """

    @functools.wraps(function)
    def put_back(*args, **kwargs):
        state = random.getstate()
        try:
            return function(*args, **kwargs)
        finally:
            random.setstate(state)

    return st.composite(put_back)


@_composite
def graphs(draw, min_vertices=1, max_vertices=9, features=False):
    """Graphs with isolated vertices, several components, shuffled edge order, or no edge."""
    count = draw(st.integers(min_vertices, max_vertices))
    possible = list(itertools.combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    seed = draw(st.integers(0, 2**32 - 1))
    return Graph.from_edges(
        np.array(edges, np.int64).reshape(-1, 2),
        count,
        _features(seed, count) if features else None,
        _features(seed + 1, len(edges)) if features else None,
        np.random.default_rng(seed).normal(size=(count, 2)) if features else None,
    )


@_composite
def complexes(draw, max_vertices=8, min_dim=0, max_dim=3, features=False, encoding=0):
    """Complexes of dimension min_dim ... max_dim, with edges and cells in any order.

    In dimension 2 the 2-cells are polygons of any length and orientation, some possibly equal; in
    dimension 3 the complex is a simplicial one with tetrahedra. Declared ranks may be empty.
    """
    dim = draw(st.integers(min_dim, max_dim))
    if dim == 3:
        cells = draw(_simplicial(max_vertices))
    else:
        graph = draw(graphs(max_vertices=max_vertices))
        boundaries = [edge_boundary(graph.num_vertices, graph.edges)][:dim]
        if dim == 2:
            boundaries.append(draw(_polygons(graph)))
        cells = CellComplex.from_boundaries(boundaries, graph.num_vertices)
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    if features:
        cells = CellComplex.from_boundaries(
            cells.boundaries,
            cells.num_vertices,
            [_features(seed + rank, count) for rank, count in enumerate(cells.num_cells)],
            rng.normal(size=(cells.num_vertices, 2)),
        )
    if encoding:
        rows = [rng.normal(size=(n, encoding)).astype(np.float32) for n in cells.num_cells]
        cells = cells.with_encodings(rows, np.zeros(encoding, np.int8))
    return cells


@_composite
def cochains(draw):
    """A complex, a rank of it, and a value for each cell of that rank."""
    cells = draw(complexes())
    rank = draw(st.integers(0, cells.dim))
    seed = draw(st.integers(0, 2**32 - 1))
    return cells, rank, np.random.default_rng(seed).normal(size=cells.num_cells[rank])


@_composite
def _polygons(draw, graph):
    cycles = list(
        itertools.islice(nx.simple_cycles(nx.Graph(graph.edges.tolist()), length_bound=6), 12)
    )
    if not cycles:
        return polygon_boundary(graph.num_vertices, graph.edges, [])
    chosen = draw(st.lists(st.sampled_from(cycles), max_size=6))
    return polygon_boundary(graph.num_vertices, graph.edges, chosen)


@_composite
def _simplicial(draw, max_vertices):
    count = draw(st.integers(1, max_vertices))
    possible = list(itertools.combinations(range(count), 4))
    solids = draw(st.lists(st.sampled_from(possible), unique=True, max_size=3)) if possible else []
    pairs = list(itertools.combinations(range(count), 2))
    loose = draw(st.lists(st.sampled_from(pairs), max_size=6)) if pairs else []
    ranks = [
        [(v,) for v in range(count)],
        draw(st.permutations(sorted({*_subsets(solids, 2), *loose}))),
        draw(st.permutations(sorted(_subsets(solids, 3)))),
        solids,
    ]
    boundaries = []
    for lower, upper in itertools.pairwise(ranks):
        number = {simplex: i for i, simplex in enumerate(lower)}
        matrix = np.zeros((len(lower), len(upper)), np.int8)
        for j, simplex in enumerate(upper):
            for left_out in range(len(simplex)):
                face = simplex[:left_out] + simplex[left_out + 1 :]
                matrix[number[face], j] = (-1) ** left_out
        boundaries.append(matrix)
    return CellComplex.from_boundaries(boundaries)


def _subsets(solids, size):
    return {face for solid in solids for face in itertools.combinations(solid, size)}


@_composite
def orders(draw, cells, ranks=None):
    """A permutation for each rank, for `permute`; only of ``ranks`` where these are given."""
    return [
        np.array(draw(st.permutations(range(count))), np.int64)
        if ranks is None or rank in ranks
        else None
        for rank, count in enumerate(cells.num_cells)
    ]


@_composite
def orientations(draw, cells):
    """A sign for each cell of each rank but the vertices, for `flip`."""
    return [None] + [
        np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)), np.int8)
        for n in cells.num_cells[1:]
    ]


def random_complex(rng, num_vertices=8, edge_probability=0.4, max_length=6):
    """A 2-complex on a random graph, some of its short cycles filled, from a numpy generator."""
    pairs = np.array(list(itertools.combinations(range(num_vertices), 2)))
    edges = pairs[rng.random(len(pairs)) < edge_probability]
    cycles = list(nx.simple_cycles(nx.Graph(edges.tolist()), length_bound=max_length))
    chosen = [cycle for cycle in cycles if rng.random() < 0.5][:20]
    return CellComplex.from_boundaries(
        [
            edge_boundary(num_vertices, edges),
            polygon_boundary(num_vertices, edges, chosen),
        ]
    )


def assert_same_complex(one, other, positions=True):
    """Fails unless both have equal boundaries, features, encodings and (if asked) positions."""
    assert one.num_cells == other.num_cells
    for left, right in zip(one.boundaries, other.boundaries, strict=True):
        np.testing.assert_array_equal(left.toarray(), right.toarray())
    for left, right in zip(one.features, other.features, strict=True):
        np.testing.assert_array_equal(left.discrete, right.discrete)
        np.testing.assert_array_equal(left.continuous, right.continuous)
        np.testing.assert_array_equal(left.signed, right.signed)
    for left, right in zip(one.encodings, other.encodings, strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.encoding_signs, other.encoding_signs)
    if positions:
        assert (one.positions is None) == (other.positions is None)
        if one.positions is not None:
            np.testing.assert_array_equal(one.positions, other.positions)


def assert_same_graph(one, other):
    """Fails unless both have equal edges, features and positions, row by row."""
    assert one.num_vertices == other.num_vertices
    np.testing.assert_array_equal(one.edges, other.edges)
    for left, right in (
        (one.vertex_features, other.vertex_features),
        (one.edge_features, other.edge_features),
    ):
        np.testing.assert_array_equal(left.discrete, right.discrete)
        np.testing.assert_array_equal(left.continuous, right.continuous)
        np.testing.assert_array_equal(left.signed, right.signed)
    assert (one.positions is None) == (other.positions is None)
    if one.positions is not None:
        np.testing.assert_array_equal(one.positions, other.positions)


def _features(seed, count):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(count, 4)).astype(np.float32)
    return Features(rng.integers(0, 5, (count, 2)), values[:, :3], values[:, 3:])
