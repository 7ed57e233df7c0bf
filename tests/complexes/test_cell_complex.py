import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import RANK_SIGN, CellComplex
from cellformer.complexes.relabel import flip, permute
from strategies import assert_same_complex, complexes, orders, orientations

B1 = np.array([[-1, -1, 0], [1, 0, -1], [0, 1, 1]])  # edges 01, 02, 12
B2 = np.array([[1], [-1], [1]])


@pytest.mark.parametrize(
    "kind", [np.asarray, sparse.csr_matrix, sparse.csc_array, sparse.coo_array, np.ndarray.tolist]
)
def test_boundaries_may_be_dense_or_sparse(kind):
    cells = CellComplex.from_boundaries([kind(B1), kind(B2)])
    assert cells.num_cells == (3, 3, 1)
    assert cells.dim == 2
    np.testing.assert_array_equal(cells.boundary(1).toarray(), B1)
    np.testing.assert_array_equal(cells.boundary(2).toarray(), B2)
    assert all(b.dtype == np.int8 for b in cells.boundaries)


def test_floating_point_and_boolean_boundaries_become_integers():
    cells = CellComplex.from_boundaries([B1.astype(float)])
    np.testing.assert_array_equal(cells.boundary(1).toarray(), B1)


def test_boundaries_there_and_back():
    cells = examples.tetrahedron()
    assert_same_complex(
        CellComplex.from_boundaries(cells.boundaries, positions=cells.positions), cells
    )


def test_given_matrices_are_neither_changed_nor_shared():
    given = sparse.csc_array(
        (np.array([1, -1, 0, 0.0]), np.array([1, 0, 2, 2]), np.array([0, 4])), shape=(3, 1)
    )
    before = given.data.copy(), given.indices.copy(), given.indptr.copy()
    cells = CellComplex.from_boundaries([given])
    for now, then in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)
    assert cells.boundary(1).nnz == 2
    assert not np.shares_memory(cells.boundary(1).indices, given.indices)


def test_read_only_matrices_are_accepted():
    given = sparse.csc_array(B1)
    for array in (given.data, given.indices, given.indptr):
        array.flags.writeable = False
    assert CellComplex.from_boundaries([given]).num_cells == (3, 3)


@pytest.mark.parametrize(
    ("boundaries", "message"),
    [
        ([2 * B1], "B_1 has an entry other than -1, 0 and 1"),
        ([B1 * 0.5], "B_1 has an entry other"),
        ([np.where(B1 == 1, np.nan, B1)], "B_1 has an entry other"),
        ([B1, B2[:2]], "B_2 has 2 rows for 3 cells of rank 1"),
        ([np.abs(B1)], "column 0 of B_1 is not an edge"),
        ([np.array([[-1, -1], [1, 0]])], "column 1 of B_1 is not an edge"),
        ([np.array([[-1, 0], [1, 0]])], "column 1 of B_1 is not an edge"),
        ([B1, np.abs(B2)], "B_1 B_2 is not zero at column 0"),
        ([B1, np.column_stack([B2, [1, 1, 0]])], "the faces of cell 1 of rank 2 do not close up"),
        ([B1, np.column_stack([B2, B2]), [[1], [1]]], "B_2 B_3 is not zero at column 0"),
        ([], "num_vertices is needed"),
    ],
)
def test_what_is_no_complex_is_refused_by_name(boundaries, message):
    with pytest.raises(ValueError, match=f"complex 'c': .*{message}"):
        CellComplex.from_boundaries(boundaries, name="c")


def test_a_number_of_vertices_must_agree():
    with pytest.raises(ValueError, match="B_1 has 3 rows for 4 cells of rank 0"):
        CellComplex.from_boundaries([B1], num_vertices=4)


def test_two_cells_may_have_the_same_boundary():
    sphere = CellComplex.from_boundaries([B1, np.column_stack([B2, B2]), [[1], [-1]]])
    assert sphere.num_cells == (3, 3, 2, 1)


@pytest.mark.parametrize("vertices", [0, 1, 5])
def test_a_complex_may_be_only_vertices(vertices):
    cells = CellComplex.from_boundaries([], vertices)
    assert cells.num_cells == (vertices,)
    assert cells.dim == 0


def test_declared_ranks_may_be_empty():
    cells = CellComplex.from_boundaries([np.zeros((4, 0)), np.zeros((0, 0)), np.zeros((0, 0))])
    assert cells.num_cells == (4, 0, 0, 0)


def test_boundaries_outside_the_declared_ranks_have_no_entries():
    cells = CellComplex.from_boundaries([B1, B2])
    shapes = [cells.boundary(rank).shape for rank in (-1, 0, 3, 4)]
    assert shapes == [(0, 0), (0, 3), (1, 0), (0, 0)]


def test_features_belong_to_ranks():
    cells = CellComplex.from_boundaries([B1, B2], features=[[1, 2, 3], None, [[0.5, 1.5]]])
    assert cells.features[0].discrete.tolist() == [[1], [2], [3]]
    assert cells.features[1].continuous.shape == (3, 0)
    assert cells.features[2].continuous.tolist() == [[0.5, 1.5]]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([None, None], "features have 2 ranks for a complex of 3"),
        ([None, [1], None], "features of rank 1 has 1 rows for 3 cells"),
    ],
)
def test_features_that_do_not_fit_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        CellComplex.from_boundaries([B1, B2], features=features)


def test_positions_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="complex 'c': positions must have one row"):
        CellComplex.from_boundaries([B1, B2], positions=[(0.0, 0.0)], name="c")


def test_encodings_make_a_new_complex():
    cells = CellComplex.from_boundaries([B1, B2])
    rows = [np.full((n, 2), n, np.float32) for n in cells.num_cells]
    encoded = cells.with_encodings(rows, np.full(2, RANK_SIGN, np.int8))
    assert cells.encodings[0].shape == (3, 0)
    assert encoded.encodings[2].tolist() == [[1, 1]]
    assert encoded.num_cells == cells.num_cells


def test_encodings_that_do_not_fit_are_refused():
    cells = CellComplex.from_boundaries([B1, B2])
    rows = [np.zeros((n, 2), np.float32) for n in (3, 2, 1)]
    with pytest.raises(ValueError, match=r"encoding of rank 1 has shape \(2, 2\), expected \(3, 2"):
        cells.with_encodings(rows, np.zeros(2, np.int8))


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_permuting_moves_rows_and_can_be_undone(data):
    cells = data.draw(complexes(features=True, encoding=2))
    order = data.draw(orders(cells))
    moved = permute(cells, order)
    for rank in range(1, cells.dim + 1):
        expected = cells.boundary(rank).toarray()[np.ix_(order[rank - 1], order[rank])]
        np.testing.assert_array_equal(moved.boundary(rank).toarray(), expected)
        assert moved.boundary(rank).has_sorted_indices
    for rank, rows in enumerate(order):
        np.testing.assert_array_equal(
            moved.features[rank].discrete, cells.features[rank].discrete[rows]
        )
        np.testing.assert_array_equal(moved.encodings[rank], cells.encodings[rank][rows])
    assert_same_complex(permute(moved, [np.argsort(rows) for rows in order]), cells)


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_flipping_changes_signs_only_and_can_be_undone(data):
    cells = data.draw(complexes(features=True, encoding=2))
    signs = data.draw(orientations(cells))
    flipped = flip(cells, signs)
    CellComplex.from_boundaries(flipped.boundaries, cells.num_vertices)  # still a complex
    for rank in range(1, cells.dim + 1):
        rows = np.ones(cells.num_cells[0]) if rank == 1 else signs[rank - 1]
        expected = rows[:, None] * cells.boundary(rank).toarray() * signs[rank]
        np.testing.assert_array_equal(flipped.boundary(rank).toarray(), expected)
    assert_same_complex(flip(flipped, signs), cells)


def test_wrong_orders_and_signs_are_refused():
    cells = CellComplex.from_boundaries([B1, B2])
    with pytest.raises(ValueError, match="order of rank 1 is not a permutation"):
        permute(cells, [None, np.array([0, 1]), None])
    with pytest.raises(ValueError, match="a vertex cannot be flipped"):
        flip(cells, [np.array([1, -1, 1]), None, None])
    with pytest.raises(ValueError, match="signs of rank 2 must be 1 entries"):
        flip(cells, [None, None, np.array([0])])
