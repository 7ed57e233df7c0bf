import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from cellformer.encodings.numerics.inverse_lanczos import bottom_vectors, components


def solved(network, count):
    laplacian = nx.laplacian_matrix(network).astype(np.float64)
    csr = sparse.csr_array(laplacian)
    pattern = csr.indptr.astype(np.int64), csr.indices.astype(np.int64)  # as they are compiled for
    labels, kernel = components(*pattern)
    trivial = np.ones(len(network))
    found = bottom_vectors(*pattern, csr.data, trivial, labels, kernel, count)
    return laplacian.toarray(), kernel, *found


NETWORKS = {
    "path": nx.path_graph(60),
    "lattice": nx.grid_2d_graph(11, 17),
    "tree": nx.random_labeled_tree(150, seed=3),
    "random": nx.gnm_random_graph(300, 700, seed=1),
    "in parts": nx.disjoint_union_all(
        [nx.path_graph(40), nx.path_graph(31), nx.empty_graph(3), nx.path_graph(2)]
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("count", [1, 5, 9])
def test_vectors_are_those_of_numpy(name, count):
    laplacian, kernel, values, vectors, radius = solved(NETWORKS[name], count)
    assert kernel == nx.number_connected_components(NETWORKS[name])
    expected = np.linalg.eigvalsh(laplacian)
    assert radius >= expected[-1]
    assert len(values) == len(vectors) == count
    np.testing.assert_allclose(values, expected[kernel : kernel + count], atol=1e-11)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(count), atol=1e-11)
    np.testing.assert_allclose(vectors @ laplacian, values[:, None] * vectors, atol=1e-10)


def test_components_are_those_of_networkx():
    for network in NETWORKS.values():
        csr = sparse.csr_array(nx.adjacency_matrix(network))
        labels, count = components(csr.indptr, csr.indices)
        theirs = list(nx.connected_components(nx.convert_node_labels_to_integers(network)))
        assert count == len(theirs)
        assert all(len(set(labels[list(members)].tolist())) == 1 for members in theirs)


@pytest.mark.parametrize(
    "network",
    [
        nx.star_graph(100),  # one eigenvalue 99 times
        nx.complete_graph(60),
        nx.path_graph(20),  # too small
        nx.empty_graph(50),
    ],
)
def test_what_it_cannot_vouch_for_is_left_to_others(network):
    values, vectors = solved(network, 8)[2:4]
    assert len(vectors) == len(values) == 0


@pytest.mark.parametrize(
    ("network", "count", "complete"),
    [
        (nx.grid_2d_graph(8, 8), 1, 2),  # the first eigenvalue is a pair
        (nx.disjoint_union_all([nx.path_graph(50)] * 3), 8, 9),  # every one is there three times
    ],
)
def test_all_vectors_of_a_repeated_last_eigenvalue_or_none(network, count, complete):
    laplacian, kernel, values, vectors, _ = solved(network, count)
    assert len(values) in (0, complete)
    expected = np.linalg.eigvalsh(laplacian)[kernel : kernel + len(values)]
    np.testing.assert_allclose(values, expected, atol=1e-10)
    np.testing.assert_allclose(vectors @ laplacian, values[:, None] * vectors, atol=1e-10)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(len(values)), atol=1e-11)


def test_twice_the_same_bits():
    once, again = (solved(NETWORKS["random"], 8)[3].tobytes() for _ in range(2))
    assert once == again
