import itertools

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from cellformer.encodings.numerics import collective_eigenvectors as spectra
from cellformer.encodings.numerics.collective_eigenvectors import smallest_of_each
from cellformer.encodings.numerics.lowest_eigenvectors import smallest_eigenvectors

NETWORKS = [
    nx.path_graph(60),
    nx.empty_graph(1),
    nx.grid_2d_graph(9, 9),  # repeated eigenvalues
    nx.star_graph(100),
    nx.gnm_random_graph(200, 230, seed=2),  # many components
    nx.empty_graph(0),
    nx.disjoint_union(nx.cycle_graph(40), nx.cycle_graph(40)),
    nx.empty_graph(20),
    nx.random_labeled_tree(90, seed=1),
    nx.complete_graph(5),
    nx.gnm_random_graph(300, 700, seed=1),
]


def laplacian(network):
    if not len(network):
        return np.zeros((0, 0))
    return nx.laplacian_matrix(network).toarray().astype(np.float64)


@pytest.fixture(scope="module")
def blocks():
    return [laplacian(network) for network in NETWORKS]


def together(blocks, count):
    offsets = np.cumsum([0, *map(len, blocks)])
    matrix = sparse.csr_array(sparse.block_diag(blocks))
    vectors = smallest_of_each(matrix, offsets, np.ones(offsets[-1]), count)
    return [vectors[a:b] for a, b in itertools.pairwise(offsets)]


@pytest.mark.parametrize("count", [1, 4, 8])
def test_every_block_has_the_vectors_of_the_dense_solver(blocks, count):
    for block, found in zip(blocks, together(blocks, count), strict=True):
        expected = smallest_eigenvectors(block, count, np.ones(len(block)))
        np.testing.assert_allclose(found[:, : expected.shape[1]], expected, atol=1e-6)
        assert not found[:, expected.shape[1] :].any()


def test_a_block_has_the_same_bits_alone_and_among_others(blocks):
    for block, found in zip(blocks, together(blocks, 8), strict=True):
        np.testing.assert_array_equal(together([block], 8)[0], found)


def test_the_compiled_solver_takes_most_of_them(blocks, monkeypatch):
    slow = []

    def recorded(block, count, trivial):
        slow.append(len(block))
        return smallest_eigenvectors(block, count, trivial)

    monkeypatch.setattr(spectra, "smallest_eigenvectors", recorded)
    together([laplacian(nx.random_labeled_tree(n, seed=n)) for n in range(60, 100)], 8)
    assert len(slow) <= 4
    slow.clear()
    together([laplacian(nx.star_graph(100))], 8)
    assert slow == [101]


def test_a_block_beyond_the_dense_ones_goes_to_the_iterative_solver(monkeypatch):
    monkeypatch.setattr(spectra, "DENSE_CELLS", 50)
    block = laplacian(nx.random_labeled_tree(90, seed=1))
    found = together([block], 3)[0]
    np.testing.assert_allclose(found, smallest_eigenvectors(block, 3, np.ones(90)), atol=1e-5)
