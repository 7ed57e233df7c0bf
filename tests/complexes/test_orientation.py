import numpy as np
from hypothesis import given, settings
from scipy import sparse

from cellformer.complexes import examples
from cellformer.complexes.batches.batch import collate
from cellformer.complexes.matrices import down_adjacency, up_adjacency
from cellformer.complexes.orientation import relative_orientations, turned_alike
from cellformer.complexes.relabel import flip, permute
from cellformer.data.named.triangulations import projective_plane
from cellformer.lifting.simplices import simplicial_complex
from strategies import complexes, orders, orientations
from turning import random_turn, sign_of, squares_across


def all_pairs(cells, receivers, senders):
    """The sign of every cell of some ranks to every one of some ranks, also of far ones."""
    shape = [sum(cells.num_cells[rank] for rank in ranks) for ranks in (receivers, senders)]
    pairs = sparse.csr_array(np.ones(shape, np.int8))
    return relative_orientations(cells, receivers, senders, pairs).reshape(shape)


@given(complexes(max_vertices=5))
@settings(deadline=None, max_examples=30)
def test_every_pair_has_the_sign_of_its_definition(cells):
    ranks = range(cells.dim + 1)
    for receiver in ranks:
        for sender in ranks:
            expected = [
                [sign_of(cells, receiver, sender, row, column)
                 for column in range(cells.num_cells[sender])]
                for row in range(cells.num_cells[receiver])
            ]  # fmt: skip
            found = all_pairs(cells, (receiver,), (sender,))
            np.testing.assert_array_equal(found, np.array(expected).reshape(found.shape))


def test_faces_of_a_surface_with_two_sides_can_turn_alike():
    for seed in range(5):
        torus, _ = random_turn(examples.torus_grid(3, 4), seed)
        several = [torus, examples.tetrahedron(filled=False)]
        for cells in [*several, collate(several)]:
            boundary = cells.boundary(2).toarray().astype(int)
            inner = np.abs(boundary).sum(axis=1) == 2
            assert inner.any()
            assert not (boundary @ turned_alike(cells))[inner].any()


def test_a_surface_with_one_side_keeps_a_seam():
    cells = simplicial_complex(projective_plane())
    boundary = cells.boundary(2).toarray().astype(int)
    assert (boundary @ turned_alike(cells)).any()


@given(complexes(max_vertices=5))
@settings(deadline=None, max_examples=20)
def test_of_several_ranks_each_block_is_that_of_its_two(cells):
    ranks = tuple(range(cells.dim + 1))
    blocks = [[all_pairs(cells, (row,), (column,)) for column in ranks] for row in ranks]
    np.testing.assert_array_equal(all_pairs(cells, ranks, ranks), np.block(blocks))


@given(complexes(max_vertices=6).flatmap(lambda c: orientations(c).map(lambda s: (c, s))))
@settings(deadline=None, max_examples=40)
def test_reversing_a_cell_reverses_its_signs_to_all_others(drawn):
    cells, signs = drawn
    turned = flip(cells, signs)
    ranks = tuple(range(cells.dim + 1))
    factor = np.concatenate([np.ones(cells.num_vertices), *signs[1:]])
    expected = all_pairs(cells, ranks, ranks) * np.outer(factor, factor)
    np.testing.assert_array_equal(all_pairs(turned, ranks, ranks), expected)


@given(complexes(max_vertices=6).flatmap(lambda c: orders(c).map(lambda o: (c, o))))
@settings(deadline=None, max_examples=20)
def test_signs_move_with_the_numbers_of_the_cells(drawn):
    cells, order = drawn
    ranks = tuple(range(cells.dim + 1))
    starts = np.cumsum([0, *cells.num_cells])
    moved = np.concatenate([rows + start for rows, start in zip(order, starts, strict=False)])
    expected = all_pairs(cells, ranks, ranks)[np.ix_(moved, moved)]
    np.testing.assert_array_equal(all_pairs(permute(cells, order), ranks, ranks), expected)


def test_cells_that_go_on_into_each_other_are_alike():
    edges = all_pairs(examples.path(4), (1,), (1,))  # each edge from its lower vertex
    np.testing.assert_array_equal(edges, np.eye(3) + np.eye(3, k=1) + np.eye(3, k=-1))
    torus = examples.torus_grid(4, 5)
    around = np.linalg.svd(torus.boundary(2).toarray())[2][-1]  # a cycle of all its squares
    torus = flip(torus, [None, None, np.sign(around).astype(int)])  # which all turn one way now
    near = down_adjacency(torus, 2)
    assert set(relative_orientations(torus, (2,), (2,), near).tolist()) == {1}


def test_two_squares_that_meet_in_opposite_ways_have_no_sign():
    cells = squares_across()
    assert down_adjacency(cells, 2).toarray().tolist() == [[0, 2], [2, 0]]
    assert all_pairs(cells, (2,), (2,)).tolist() == [[1, 0], [0, 1]]


def test_a_batch_has_the_signs_of_its_complexes():
    parts = [examples.tetrahedron(), examples.path(3), examples.torus_grid(3, 3)]
    batch = collate(parts)
    near = up_adjacency(batch, 1) + down_adjacency(batch, 1)
    own = [
        relative_orientations(cells, (1,), (1,), up_adjacency(cells, 1) + down_adjacency(cells, 1))
        for cells in parts
    ]
    found = relative_orientations(batch, (1,), (1,), near)
    np.testing.assert_array_equal(found, np.concatenate(own))
    assert set(found.tolist()) == {-1, 1}
