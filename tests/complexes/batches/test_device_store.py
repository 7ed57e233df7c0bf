from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes import examples
from cellformer.complexes import matrices as neighborhoods
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.many.ragged import RaggedComplexes
from strategies import complexes

collections = st.lists(complexes(max_vertices=6, features=True, encoding=2), min_size=1, max_size=5)


def kept(ragged):
    """Neighborhoods within a rank, between two, and over all ranks at once."""
    whole = CellBatch.from_ragged(ragged)
    every = tuple(range(whole.dim + 1))
    made = {
        ("up", rank): ((rank,), (rank,), neighborhoods.up_adjacency(whole, rank)) for rank in every
    }
    made |= {
        ("faces", high): ((low,), (high,), neighborhoods.incidence(whole, high))
        for low, high in pairwise(every)
    }
    made["all"] = (every, every, neighborhoods.barycentric_skeleton(whole))
    return {
        key: (receivers, senders, Neighborhood.from_matrix(matrix))
        for key, (receivers, senders, matrix) in made.items()
    }


def assert_same_bits(one, other):
    assert one.dtype == other.dtype
    assert torch.equal(one, other)


def assert_same_batch(got, expected):
    assert got.num_cells == expected.num_cells
    for name in ("offsets", "discrete", "continuous", "encodings", "signed"):
        for left, right in zip(getattr(got, name), getattr(expected, name), strict=True):
            assert_same_bits(left, right)
    for left, right in zip(got.faces, expected.faces, strict=True):
        for name in ("offsets", "faces", "signs"):
            assert_same_bits(getattr(left, name), getattr(right, name))
    assert_same_bits(got.encoding_signs, expected.encoding_signs)
    if expected.targets is None:
        assert got.targets is None
    else:
        assert_same_bits(got.targets, expected.targets)


@given(collections, st.data())
@settings(deadline=None, max_examples=30)
def test_a_batch_cut_from_tensors_equals_one_cut_from_the_store(many, data):
    ragged = RaggedComplexes.from_complexes(many, np.arange(float(len(many))))
    chosen = data.draw(st.lists(st.integers(0, len(many) - 1), max_size=7).map(np.array))
    resident = ResidentComplexes.of(ragged, kept(ragged))
    got = resident.batch(chosen.astype(np.int64))
    expected = CellBatch.from_ragged(ragged.take(chosen.astype(np.int64)))
    assert_same_batch(got, expected)
    for key, (_, _, neighborhood) in kept(ragged.take(chosen.astype(np.int64))).items():
        found = got.neighborhoods[key]
        assert found.num_senders == neighborhood.num_senders
        for name in ("offsets", "senders", "weights"):
            assert_same_bits(getattr(found, name), getattr(neighborhood, name))


def test_complexes_without_targets_or_edges():
    ragged = RaggedComplexes.from_complexes([examples.vertex(), examples.edgeless(3)])
    got = ResidentComplexes.of(ragged, {}).batch(np.array([1, 0]))
    assert_same_batch(got, CellBatch.from_ragged(ragged.take([1, 0])))


def test_a_batch_does_not_share_memory_with_the_collection():
    ragged = RaggedComplexes.from_complexes([examples.house()], np.ones(1))
    resident = ResidentComplexes.of(ragged, kept(ragged))
    batch = resident.batch(np.array([0]))
    for tensor in (*batch.offsets, *batch.encodings, batch.targets, batch.faces[0].faces):
        tensor += 1
    assert_same_batch(resident.batch(np.array([0])), CellBatch.from_ragged(ragged))


def test_a_pair_that_joins_two_complexes_is_refused():
    ragged = RaggedComplexes.from_complexes([examples.path(2), examples.path(2)])
    crossing = Neighborhood(4, torch.tensor([0, 1, 1, 1, 1]), torch.tensor([2]), torch.ones(1))
    with pytest.raises(ValueError, match="two complexes"):
        ResidentComplexes.of(ragged, {"crossing": ((0,), (0,), crossing)})


def test_all_tensors_move_and_are_counted():
    ragged = RaggedComplexes.from_complexes([examples.house(), examples.triangle()], np.ones(2))
    resident = ResidentComplexes.of(ragged, kept(ragged))
    moved = resident.to("meta")
    pairs = (*moved.faces, *moved.neighborhoods.values())
    tensors = [tensor for part in (*moved.ranks, *pairs) for tensor in part.tensors()]
    assert all(t.device.type == "meta" for t in (*tensors, moved.encoding_signs, moved.targets))
    assert resident.nbytes == moved.nbytes == sum(t.nbytes for t in tensors) > 0
    assert moved.batch(np.array([1, 0])).device.type == "meta"
