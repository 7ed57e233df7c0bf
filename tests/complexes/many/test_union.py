import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.union import DisjointUnion, diagonal_block, reordered
from cellformer.complexes.matrices import (
    barycentric_skeleton,
    down_adjacency,
    hodge_laplacian,
    incidence,
    up_adjacency,
)
from strategies import complexes

collections = st.lists(complexes(max_vertices=6), min_size=1, max_size=5)


@given(collections)
@settings(deadline=None, max_examples=30)
def test_the_blocks_of_its_matrices_are_those_of_the_complexes(many):
    ragged = RaggedComplexes.from_complexes(many)
    union = DisjointUnion.of(ragged)
    for rank in range(union.dim + 1):
        bounds = union.offsets[rank]
        for make in (up_adjacency, down_adjacency, hodge_laplacian):
            whole = make(union, rank)
            blocks = [make(ragged[i], rank) for i in range(len(many))]
            np.testing.assert_array_equal(whole.toarray(), sparse.block_diag(blocks).toarray())
            for i, block in enumerate(blocks):
                rows = slice(int(bounds[i]), int(bounds[i + 1]))
                np.testing.assert_array_equal(
                    diagonal_block(whole, rows).toarray(), block.toarray()
                )
        if rank:
            blocks = [incidence(ragged[i], rank) for i in range(len(many))]
            np.testing.assert_array_equal(
                incidence(union, rank).toarray(), sparse.block_diag(blocks).toarray()
            )


@given(collections)
@settings(deadline=None, max_examples=30)
def test_complex_after_complex_is_each_complex_rank_after_rank(many):
    ragged = RaggedComplexes.from_complexes(many)
    union = DisjointUnion.of(ragged)
    order, offsets = union.by_complex()
    assert np.diff(offsets).tolist() == ragged.num_cells.sum(axis=1).tolist()
    skeleton = reordered(barycentric_skeleton(union), order)
    blocks = [barycentric_skeleton(ragged[i]) for i in range(len(many))]
    np.testing.assert_array_equal(skeleton.toarray(), sparse.block_diag(blocks).toarray())
    assert skeleton.has_sorted_indices


@given(complexes(max_vertices=6))
@settings(deadline=None, max_examples=20)
def test_the_union_of_one_complex_is_that_complex(cells):
    union = DisjointUnion.of(cells)
    order, offsets = union.by_complex()
    assert union.num_cells == cells.num_cells
    assert order.tolist() == list(range(sum(cells.num_cells)))
    assert offsets.tolist() == [0, sum(cells.num_cells)]
    for rank in range(-1, cells.dim + 3):
        assert union.boundary(rank).shape == cells.boundary(rank).shape
    pieces = union.split_ranks(np.arange(2.0 * len(order)).reshape(-1, 2))
    assert [len(piece) for piece in pieces] == list(cells.num_cells)


@pytest.mark.parametrize("seed", range(3))
def test_reordering_is_indexing_by_the_order(seed):
    random = np.random.default_rng(seed)
    matrix = sparse.random_array((30, 30), density=0.2, format="csr", rng=random)
    order = random.permutation(30)
    expected = matrix.toarray()[np.ix_(order, order)]
    np.testing.assert_array_equal(reordered(matrix, order).toarray(), expected)
