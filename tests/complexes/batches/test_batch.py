import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cellformer.complexes import examples
from cellformer.complexes import matrices as neighborhoods
from cellformer.complexes.batches.batch import CellBatch, collate
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from strategies import NAMED, complexes

collections = st.lists(complexes(max_vertices=6, features=True, encoding=2), min_size=1, max_size=5)


def block_diagonal(matrices):
    """Dense blocks below each other, written out by hand."""
    shapes = np.array([m.shape for m in matrices])
    out = np.zeros(shapes.sum(axis=0), int)
    row = column = 0
    for matrix in matrices:
        out[row : row + matrix.shape[0], column : column + matrix.shape[1]] = matrix.toarray()
        row, column = row + matrix.shape[0], column + matrix.shape[1]
    return out


@pytest.mark.parametrize("names", [*itertools.permutations(["house", "torus", "vertex"])])
def test_each_rank_has_offsets_of_its_own(names):
    many = [NAMED[name]() for name in names]
    batch = collate(many)
    for rank in range(3):
        counts = [c.num_cells[rank] if rank <= c.dim else 0 for c in many]
        assert batch.offsets[rank].tolist() == [0, *itertools.accumulate(counts)]
        expected = [i for i, count in enumerate(counts) for _ in range(count)]
        assert batch.complex_of(rank).tolist() == expected
    assert batch.num_complexes == 3
    assert batch.dim == 2


@given(collections)
@settings(deadline=None, max_examples=40)
def test_boundaries_of_a_union_are_block_diagonal(many):
    batch = collate(many)
    assert batch.dim == max(cells.dim for cells in many)
    for rank in range(-1, batch.dim + 3):
        blocks = [cells.boundary(rank) for cells in many]
        np.testing.assert_array_equal(batch.boundary(rank).toarray(), block_diagonal(blocks))
    for lower, upper in itertools.pairwise(batch.boundaries):
        assert not (lower.astype(int) @ upper.astype(int)).toarray().any()


@given(collections)
@settings(deadline=None, max_examples=30)
def test_neighborhoods_of_a_union_are_those_of_its_parts(many):
    batch = collate(many)
    for rank in range(batch.dim + 1):
        for make in (
            neighborhoods.up_adjacency,
            neighborhoods.down_adjacency,
            neighborhoods.hodge_laplacian,
        ):
            blocks = [make(cells, rank) for cells in many]
            np.testing.assert_array_equal(make(batch, rank).toarray(), block_diagonal(blocks))
    for rank in range(1, batch.dim + 1):
        blocks = [neighborhoods.incidence(cells, rank) for cells in many]
        np.testing.assert_array_equal(
            neighborhoods.incidence(batch, rank).toarray(), block_diagonal(blocks)
        )


@given(collections)
@settings(deadline=None, max_examples=30)
def test_rows_follow_one_complex_after_the_other(many):
    batch = collate(many)
    for rank in range(batch.dim + 1):
        parts = [cells for cells in many if rank <= cells.dim and cells.num_cells[rank]]
        for name in ("discrete", "continuous", "signed"):
            rows = getattr(batch, name)
            if parts:
                expected = np.concatenate([getattr(c.features[rank], name) for c in parts])
                np.testing.assert_array_equal(rows[rank].numpy(), expected)
            assert len(rows[rank]) == batch.num_cells[rank]
        if parts:
            expected = np.concatenate([cells.encodings[rank] for cells in parts])
            np.testing.assert_array_equal(batch.encodings[rank].numpy(), expected)


@pytest.mark.parametrize("last", ["vertex", "edgeless", "path"])
def test_trailing_complexes_without_cells_of_a_rank_keep_their_place(last):
    many = [examples.house(), examples.triangle(), NAMED[last](), NAMED[last]()]
    batch = collate(many)
    assert batch.num_complexes == 4
    assert all(len(offsets) == 5 for offsets in batch.offsets)
    assert batch.offsets[2].tolist() == [0, 2, 3, 3, 3]


def test_a_complex_without_any_cell_keeps_its_place():
    nothing = CellComplex.from_boundaries([], 0)
    batch = collate([nothing, examples.path(2), nothing])
    assert batch.offsets[0].tolist() == [0, 0, 2, 2]
    assert batch.offsets[1].tolist() == [0, 0, 1, 1]


def test_a_batch_may_hold_no_complex():
    batch = CellBatch.from_ragged(RaggedComplexes.from_complexes([examples.house()]).take([]))
    assert batch.num_complexes == 0
    assert batch.num_cells == (0, 0, 0)
    assert batch.complex_of(2).tolist() == []
    assert neighborhoods.up_adjacency(batch, 0).shape == (0, 0)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_first_complex_without_faces_does_not_remove_the_rank(order):
    many = [examples.path(3), examples.triangle()]
    batch = collate([many[i] for i in order])
    assert batch.num_cells == (6, 5, 1)
    assert batch.boundary(2).toarray().any()


def test_a_neighborhood_is_made_once():
    batch = collate([examples.house(), examples.triangle()])
    calls = []

    def make(cells):
        calls.append(cells)
        return neighborhoods.up_adjacency(cells, 0)

    first = batch.neighborhood("up", make)
    assert batch.neighborhood("up", make) is first
    assert len(calls) == 1
    expected = neighborhoods.up_adjacency(batch, 0)
    np.testing.assert_array_equal(first.senders.numpy(), expected.indices)


def test_another_device_gets_everything():
    ragged = RaggedComplexes.from_complexes([examples.house()], np.array([1.0]))
    batch = CellBatch.from_ragged(ragged)
    batch.neighborhood("up", lambda cells: neighborhoods.up_adjacency(cells, 0))
    moved = batch.to("meta")
    assert moved.device.type == "meta"
    tensors = [
        *moved.offsets,
        *moved.discrete,
        *moved.continuous,
        *moved.encodings,
        *moved.signed,
        moved.encoding_signs,
        moved.targets,
        moved.neighborhood("up", lambda cells: pytest.fail("made again")).weights,
    ]
    assert all(tensor.device.type == "meta" for tensor in tensors)
    assert moved.num_cells == batch.num_cells
    assert batch.device.type == "cpu"
    made_there = moved.neighborhood("down", lambda cells: neighborhoods.incidence(cells, 1))
    assert made_there.senders.device.type == "meta"


def test_a_batch_of_read_only_arrays_does_not_write_to_them(tmp_path):
    ragged = RaggedComplexes.from_complexes([examples.house(), examples.torus_grid(3, 3)])
    frozen = []
    for rank in ragged.ranks:
        copies = [getattr(rank, name).copy() for name in RaggedRank.ARRAYS]
        for copy in copies:
            copy.flags.writeable = False
        frozen.append(RaggedRank(*copies))
    batch = CellBatch.from_ragged(replace(ragged, ranks=tuple(frozen)))
    for tensors in (
        batch.offsets,
        batch.discrete,
        batch.continuous,
        batch.encodings,
        batch.signed,
    ):
        for tensor in tensors:
            tensor.add_(1)  # not into the arrays behind it
    for rank, before in zip(frozen, ragged.ranks, strict=True):
        np.testing.assert_array_equal(rank.offsets, before.offsets)
    expected = sparse.block_diag(
        [examples.house().boundary(2), examples.torus_grid(3, 3).boundary(2)]
    )
    np.testing.assert_array_equal(batch.boundary(2).toarray(), expected.toarray())
    assert neighborhoods.hodge_laplacian(batch, 1).shape == (24, 24)


def test_encodings_and_targets_arrive_as_float32():
    cells = examples.house()
    rows = [np.full((n, 3), n, np.float32) for n in cells.num_cells]
    cells = cells.with_encodings(rows, np.ones(3, np.int8))
    batch = CellBatch.from_ragged(RaggedComplexes.from_complexes([cells, cells], np.zeros((2, 4))))
    assert batch.encodings[1].dtype == torch.float32
    assert batch.encodings[1].shape == (12, 3)
    assert batch.targets.shape == (2, 4)
    assert batch.encoding_signs.tolist() == [1, 1, 1]
