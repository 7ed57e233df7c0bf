import itertools

import networkx as nx
import numpy as np
import pytest
from toponetx.transform.graph_to_cell_complex import homology_cycle_cell_complex

from cellformer.complexes.graph import Graph
from cellformer.complexes.matrices import (
    down_adjacency,
    down_laplacian,
    hodge_laplacian,
    incidence,
    up_adjacency,
    up_laplacian,
)
from cellformer.complexes.relabel import permute_graph
from cellformer.lifting.cycle_basis import CycleBasis, fundamental_cycles


def random_network(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 25))
    most = count * (count - 1) // 2
    drawn = nx.gnm_random_graph(count, int(rng.integers(0, min(most, 3 * count) + 1)), seed=seed)
    network = nx.empty_graph(count)
    network.add_edges_from(drawn.edges)  # so that its own order of edges is the one we read
    return network


def in_our_order(cells, topo, vertex_sets):
    """Where each of our edges and faces is in TopoNetX, and the sign of each face there."""
    _, edges, _ = topo.incidence_matrix(1, index=True)
    edge_at = np.array([edges[ends] for ends in vertex_sets(cells, 1)], np.int64)
    faces = {tuple(sorted(face.elements)): i for i, face in enumerate(topo.cells)}
    face_at = np.array([faces[face] for face in vertex_sets(cells)], np.int64)
    assert len(faces) == len(topo.cells) == len(face_at)
    boundary = topo.incidence_matrix(2).toarray()[edge_at][:, face_at]
    ours = cells.boundary(2).toarray()
    signs = np.sign((boundary * ours).sum(axis=0))
    np.testing.assert_array_equal(boundary * signs, ours)
    return edge_at, face_at, signs


@pytest.mark.parametrize("seed", range(50))
def test_cells_and_matrices_are_those_of_toponetx(seed, vertex_sets):
    network = random_network(seed)
    edges = np.array(network.edges, np.int64).reshape(-1, 2)
    cells = CycleBasis()(Graph.from_edges(edges, len(network)))
    topo = homology_cycle_cell_complex(network)
    edge_at, face_at, signs = in_our_order(cells, topo, vertex_sets)
    assert sorted(vertex_sets(cells)) == sorted(tuple(sorted(c)) for c in nx.cycle_basis(network))
    if not len(edge_at):
        return

    def same(ours, theirs, rows, columns=None):
        columns = rows if columns is None else columns
        np.testing.assert_array_equal(ours.toarray(), theirs.toarray()[rows][:, columns])

    vertices = np.arange(len(network))
    signed = topo.incidence_matrix(1).toarray()[:, edge_at]
    np.testing.assert_array_equal(cells.boundary(1).toarray(), signed)
    same(incidence(cells, 1), topo.incidence_matrix(1, signed=False), vertices, edge_at)
    same(up_adjacency(cells, 0), topo.adjacency_matrix(0), vertices)
    same(down_adjacency(cells, 1), topo.coadjacency_matrix(1), edge_at)
    same(hodge_laplacian(cells, 0), topo.hodge_laplacian_matrix(0), vertices)
    same(down_laplacian(cells, 1), topo.down_laplacian_matrix(1), edge_at)
    same(hodge_laplacian(cells, 1), topo.hodge_laplacian_matrix(1), edge_at)
    if not len(face_at):
        return
    same(incidence(cells, 2), topo.incidence_matrix(2, signed=False), edge_at, face_at)
    same(up_adjacency(cells, 1), topo.adjacency_matrix(1), edge_at)
    same(down_adjacency(cells, 2), topo.coadjacency_matrix(2), face_at)
    same(up_laplacian(cells, 1), topo.up_laplacian_matrix(1), edge_at)
    theirs = topo.hodge_laplacian_matrix(2).toarray()[face_at][:, face_at]
    np.testing.assert_array_equal(
        hodge_laplacian(cells, 2).toarray(), theirs * signs * signs[:, None]
    )


@pytest.mark.parametrize("seed", range(10))
def test_there_is_a_face_for_every_independent_cycle(seed):
    network = random_network(100 + seed)
    edges = np.array(network.edges, np.int64).reshape(-1, 2)
    cells = CycleBasis()(Graph.from_edges(edges, len(network)))
    independent = len(edges) - len(network) + nx.number_connected_components(network)
    assert cells.num_cells[2] == independent
    assert np.linalg.matrix_rank(cells.boundary(2).toarray()) == independent


def test_the_basis_depends_on_the_labels_as_documented(from_networkx):
    grid = from_networkx(nx.grid_2d_graph(3, 3))
    rng = np.random.default_rng(0)
    lengths = {
        tuple(sorted(np.diff(CycleBasis()(relabelled).boundary(2).indptr).tolist()))
        for relabelled in (permute_graph(grid, rng.permutation(9)) for _ in range(20))
    }
    assert len(lengths) > 1


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_matrices_of_a_triangle_with_a_pendant_do_not_depend_on_the_order_of_edges(order):
    edges = np.array([(0, 1), (1, 2), (0, 2), (2, 3)])[list(order)]
    cells = CycleBasis()(Graph.from_edges(edges))
    adjacency = up_adjacency(cells, 0).toarray()
    np.testing.assert_array_equal(
        adjacency, [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
    )
    for matrix in (down_adjacency(cells, 1).toarray(), up_adjacency(cells, 1).toarray()):
        np.testing.assert_array_equal(matrix, matrix.T)
        assert not matrix.diagonal().any()
    pendant = order.index(3)
    assert down_adjacency(cells, 1).toarray()[pendant].sum() == 2
    assert up_adjacency(cells, 1).toarray()[pendant].sum() == 0


@pytest.mark.parametrize("seed", range(60))
def test_cycles_are_those_of_networkx_in_its_order(seed):
    network = random_network(200 + seed)
    edges = np.array(network.edges, np.int64).reshape(-1, 2)
    edges.sort(axis=1)
    vertices, offsets = fundamental_cycles(len(network), edges)
    found = [vertices[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    assert found == nx.cycle_basis(network)
