import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes import examples
from cellformer.complexes import matrices as neighborhoods
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import boundary_walks, edge_boundary, edge_ends
from cellformer.complexes.relabel import flip, permute
from cellformer.data.interop.toponetx_complex import to_toponetx
from strategies import NAMED, complexes, orders, orientations, random_complex


def per_rank(cells):
    """(what it is, matrix, rank of its rows, rank of its columns) of everything derived."""
    for rank in range(cells.dim + 1):
        for make in (
            neighborhoods.up_adjacency,
            neighborhoods.down_adjacency,
            neighborhoods.up_laplacian,
            neighborhoods.down_laplacian,
            neighborhoods.hodge_laplacian,
        ):
            yield f"{make.__name__} {rank}", make(cells, rank), rank, rank
    for rank in range(1, cells.dim + 1):
        yield f"incidence {rank}", neighborhoods.incidence(cells, rank), rank - 1, rank
    for low, high in itertools.combinations(range(cells.dim + 1), 2):
        yield f"containment {low} {high}", neighborhoods.containment(cells, low, high), low, high


def closure(cells, rank, index):
    """All (rank, index) below a cell, found by following faces one by one."""
    below = set()
    todo = [(rank, index)]
    while todo:
        k, i = todo.pop()
        if k:
            faces = np.flatnonzero(cells.boundary(k).toarray()[:, i])
            found = {(k - 1, int(f)) for f in faces} - below
            below |= found
            todo += found
    return below


@given(complexes(max_vertices=6))
@settings(deadline=None, max_examples=30)
def test_adjacencies_count_shared_cells(cells):
    for rank in range(cells.dim + 1):
        down = np.abs(cells.boundary(rank).toarray()).astype(int)
        up = np.abs(cells.boundary(rank + 1).toarray()).astype(int)
        count = cells.num_cells[rank]
        expected_up, expected_down = np.zeros((2, count, count), int)
        for i, j in itertools.product(range(count), repeat=2):
            if i != j:
                expected_up[i, j] = sum(up[i, c] and up[j, c] for c in range(up.shape[1]))
                expected_down[i, j] = sum(down[c, i] and down[c, j] for c in range(down.shape[0]))
        np.testing.assert_array_equal(
            neighborhoods.up_adjacency(cells, rank).toarray(), expected_up
        )
        np.testing.assert_array_equal(
            neighborhoods.down_adjacency(cells, rank).toarray(), expected_down
        )


@given(complexes(max_vertices=7))
@settings(deadline=None, max_examples=30)
def test_laplacians_are_products_of_boundaries(cells):
    for rank in range(cells.dim + 1):
        down = cells.boundary(rank).toarray().astype(int)
        up = cells.boundary(rank + 1).toarray().astype(int)
        for make, expected in (
            (neighborhoods.down_laplacian, down.T @ down),
            (neighborhoods.up_laplacian, up @ up.T),
            (neighborhoods.hodge_laplacian, down.T @ down + up @ up.T),
        ):
            np.testing.assert_array_equal(make(cells, rank).toarray(), expected)


@given(complexes(max_vertices=6))
@settings(deadline=None, max_examples=30)
def test_the_barycentric_skeleton_joins_every_cell_to_all_its_faces(cells):
    numbers = np.cumsum([0, *cells.num_cells])
    expected = np.zeros((numbers[-1], numbers[-1]), int)
    for rank, count in enumerate(cells.num_cells):
        for index in range(count):
            for low, face in closure(cells, rank, index):
                a, b = numbers[rank] + index, numbers[low] + face
                expected[a, b] = expected[b, a] = 1
    skeleton = neighborhoods.barycentric_skeleton(cells)
    np.testing.assert_array_equal(skeleton.toarray(), expected)


@given(complexes())
@settings(deadline=None, max_examples=30)
def test_matrices_are_tidy_and_square_ones_symmetric(cells):
    everything = [*per_rank(cells), ("", neighborhoods.barycentric_skeleton(cells), 0, 0)]
    for what, matrix, *_ in everything:
        assert matrix.format == "csr", what
        assert matrix.has_sorted_indices, what
        assert (matrix.data != 0).all(), what
        assert matrix.dtype.kind == "i", what
        if matrix.shape[0] == matrix.shape[1] and "incidence" not in what:
            if "containment" not in what:
                assert abs(matrix - matrix.T).nnz == 0, what
            if "adjacency" in what:
                assert not matrix.diagonal().any(), what


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_relabeling_cells_permutes_every_matrix(data):
    cells = data.draw(complexes())
    order = data.draw(orders(cells))
    for (what, before, rows, columns), (_, after, *_) in zip(
        per_rank(cells), per_rank(permute(cells, order)), strict=True
    ):
        expected = before.toarray()[np.ix_(order[rows], order[columns])]
        np.testing.assert_array_equal(after.toarray(), expected, err_msg=what)


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_flipping_orientations_changes_no_unsigned_matrix(data):
    cells = data.draw(complexes())
    signs = data.draw(orientations(cells))
    for (what, before, rank, _), (_, after, *_) in zip(
        per_rank(cells), per_rank(flip(cells, signs)), strict=True
    ):
        expected = before.toarray()
        if "laplacian" in what and rank > 0:
            expected = signs[rank][:, None] * expected * signs[rank]
        np.testing.assert_array_equal(after.toarray(), expected, err_msg=what)


def test_matrices_equal_those_of_toponetx_on_random_complexes():
    rng = np.random.default_rng(0)
    with_faces = 0
    for _ in range(50):
        cells = random_complex(rng, num_vertices=int(rng.integers(3, 9)))
        if not cells.num_cells[1]:
            continue
        theirs = to_toponetx(cells)
        ends = [tuple(sorted(pair)) for pair in edge_ends(cells).tolist()]
        _, edge_number, boundary_1 = theirs.incidence_matrix(1, index=True)
        edges = [edge_number[pair] for pair in ends]
        np.testing.assert_array_equal(
            abs(boundary_1).toarray()[:, edges], neighborhoods.incidence(cells, 1).toarray()
        )
        expected = theirs.adjacency_matrix(0).toarray()
        np.testing.assert_array_equal(neighborhoods.up_adjacency(cells, 0).toarray(), expected)
        if not cells.num_cells[2]:
            continue
        with_faces += 1
        at = np.ix_(edges, edges)
        their_faces = [frozenset(cell.elements) for cell in theirs.cells]
        our_faces = [frozenset(walks[0]) for walks in boundary_walks(cells)]
        # Several faces may have the same vertices; those without a twin are told apart by them.
        alone = [i for i, face in enumerate(our_faces) if our_faces.count(face) == 1]
        faces = [their_faces.index(our_faces[i]) for i in alone]
        boundary_2 = theirs.incidence_matrix(2).toarray()
        np.testing.assert_array_equal(
            np.abs(boundary_2)[np.ix_(edges, faces)],
            neighborhoods.incidence(cells, 2).toarray()[:, alone],
        )
        for make, expected in (
            (neighborhoods.up_laplacian, theirs.up_laplacian_matrix(1).toarray()),
            (neighborhoods.down_laplacian, theirs.down_laplacian_matrix(1).toarray()),
            (neighborhoods.hodge_laplacian, theirs.hodge_laplacian_matrix(1).toarray()),
        ):
            np.testing.assert_array_equal(make(cells, 1).toarray(), expected[at])
        down_2 = theirs.down_laplacian_matrix(2).toarray()
        np.testing.assert_array_equal(
            np.abs(neighborhoods.down_laplacian(cells, 2).toarray())[np.ix_(alone, alone)],
            np.abs(down_2)[np.ix_(faces, faces)],
        )
    assert with_faces > 20


def test_two_polygons_may_share_several_edges():
    cells = examples.petersen()
    down = neighborhoods.down_adjacency(cells, 2)
    assert set(down.data.tolist()) == {1, 2}
    np.testing.assert_array_equal(down.sum(axis=1), 5 * 3)  # five edges, each in three others


def test_a_large_star_does_not_overflow_small_integers():
    edges = np.array([(0, leaf) for leaf in range(1, 301)])
    star = CellComplex.from_boundaries([edge_boundary(301, edges)])
    assert neighborhoods.hodge_laplacian(star, 0)[0, 0] == 300


def test_the_torus_has_the_betti_numbers_1_2_1():
    cells = examples.torus_grid(3, 4)
    kernels = [
        cells.num_cells[rank]
        - np.linalg.matrix_rank(neighborhoods.hodge_laplacian(cells, rank).toarray())
        for rank in range(3)
    ]
    assert kernels == [1, 2, 1]


def test_the_skeleton_of_a_filled_triangle_is_a_wheel_with_a_hub_at_the_face():
    skeleton = nx.from_scipy_sparse_array(neighborhoods.barycentric_skeleton(examples.triangle()))
    assert nx.is_isomorphic(skeleton, nx.wheel_graph(7))


@pytest.mark.parametrize("name", NAMED)
def test_every_named_complex_has_all_matrices(name):
    cells = NAMED[name]()
    for _, matrix, rows, columns in per_rank(cells):
        assert matrix.shape == (cells.num_cells[rows], cells.num_cells[columns])


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (0, 3), (-1, 1)])
def test_containment_refuses_other_ranks(low, high):
    with pytest.raises(ValueError, match="need 0 <= low < high <= 2"):
        neighborhoods.containment(examples.house(), low, high)


@given(complexes())
@settings(deadline=None, max_examples=20)
def test_a_neighborhood_holds_the_rows_of_its_matrix(cells):
    for _, matrix, *_ in per_rank(cells):
        neighborhood = Neighborhood.from_matrix(matrix)
        assert (neighborhood.num_receivers, neighborhood.num_senders) == matrix.shape
        dense = np.zeros(matrix.shape)
        dense[neighborhood.receivers.numpy(), neighborhood.senders.numpy()] = (
            neighborhood.weights.numpy()
        )
        np.testing.assert_array_equal(dense, matrix.toarray())
        assert (neighborhood.binary().weights == 1).all()
