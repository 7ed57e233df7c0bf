import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.encodings.barycentric import barycentric_walk
from cellformer.encodings.encode import encode
from cellformer.encodings.rwbspe import RWBSPe


def check_against_networkx(cells, adjacency, size):
    """Diagonals of matrix powers, with networkx's adjacency."""
    graph = nx.from_numpy_array(adjacency)
    graph.add_edges_from((cell, cell) for cell in list(nx.isolates(graph)))
    matrix = nx.to_numpy_array(graph)
    walk = matrix / matrix.sum(axis=0)
    expected = [np.diag(np.linalg.matrix_power(walk, p)) for p in range(1, size + 1)]
    ours = np.vstack(encode(cells, RWBSPe(size)).encodings)
    np.testing.assert_allclose(ours, np.stack(expected, axis=1), atol=1e-6)
    np.testing.assert_allclose(barycentric_walk(cells).toarray(), walk, atol=1e-15)


def test_named_complexes_match_networkx(named, closure_matrix):
    if named.num_vertices:
        check_against_networkx(named, closure_matrix(named), 8)


@given(st.integers(0, 10_000), st.integers(1, 9))
@settings(deadline=None, max_examples=40)
def test_random_complexes_match_networkx(random_complex, closure_matrix, seed, size):
    cells = random_complex(seed)
    check_against_networkx(cells, closure_matrix(cells), size)


def test_every_value_is_a_probability(named):
    for rows in encode(named, RWBSPe(8)).encodings:
        assert ((rows >= 0) & (rows <= 1)).all()
    np.testing.assert_allclose(barycentric_walk(named).sum(axis=0), 1, atol=1e-12)


@pytest.mark.parametrize("name", ["edgeless", "vertex", "vertex with empty ranks"])
def test_isolated_cells_stay(make, name):
    assert (encode(make(name), RWBSPe(8)).encodings[0] == 1).all()


def test_only_the_isolated_cell_stays(make):
    vertices = encode(make("triangle, edge and vertex"), RWBSPe(8)).encodings[0]
    assert (vertices == 1).all(axis=1).tolist() == [False] * 5 + [True]
    assert (vertices[:5, 0] == 0).all()
