from dataclasses import replace

import numpy as np
import pytest
import torch

from cellformer.complexes.batches.batch import CellBatch, collate
from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.descriptors import Descriptors, with_values
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.store import merge_ragged, open_ragged, save_ragged
from cellformer.complexes.removal import without_cell
from cellformer.lifting.induced_cycles import InducedCycles

COUNTS = np.array([[0, 255, 3], [1, 0, 0], [7, 2, 0]], np.uint8)
VALUES = np.array([[1.5, np.nan], [-2.0, 4.0], [0.0, np.nan]], np.float32)


@pytest.fixture(scope="module")
def ragged():
    lifting = InducedCycles()
    cells = [lifting(Graph.from_smiles(text)) for text in ("CCO", "c1ccccc1", "C")]
    return replace(RaggedComplexes.from_complexes(cells), descriptors=Descriptors(COUNTS, VALUES))


def assert_equal(given, counts, values):
    np.testing.assert_array_equal(given.counts, counts)
    np.testing.assert_array_equal(given.values, values)
    assert given.counts.dtype == np.uint8


def test_they_follow_their_complexes_when_some_are_taken_and_put_together(ragged):
    assert_equal(ragged.take([2, 0]).descriptors, COUNTS[[2, 0]], VALUES[[2, 0]])
    assert_equal(ragged[1].descriptors, COUNTS[[1]], VALUES[[1]])
    again = RaggedComplexes.from_complexes([ragged[1], ragged[0]])
    assert_equal(again.descriptors, COUNTS[[1, 0]], VALUES[[1, 0]])
    twice = RaggedComplexes.concatenate([ragged, again])
    assert_equal(twice.descriptors, COUNTS[[0, 1, 2, 1, 0]], VALUES[[0, 1, 2, 1, 0]])


def test_they_stay_when_a_cell_is_left_out(ragged):
    assert_equal(without_cell(ragged[0], 0, 1).descriptors, COUNTS[[0]], VALUES[[0]])


def test_a_store_gives_them_back(ragged, tmp_path):
    save_ragged(ragged, tmp_path / "one")
    opened, _ = open_ragged(tmp_path / "one", verify=True)
    assert_equal(opened.descriptors, COUNTS, VALUES)
    assert isinstance(opened.descriptors.counts, np.memmap)
    merge_ragged([opened, ragged], tmp_path / "two")
    merged, _ = open_ragged(tmp_path / "two")
    assert_equal(merged.descriptors, np.vstack([COUNTS, COUNTS]), np.vstack([VALUES, VALUES]))


def test_a_batch_has_counts_then_values_wherever_it_is_cut(ragged):
    chosen = np.array([2, 1])
    expected = np.hstack([COUNTS, VALUES])[chosen].astype(np.float32)
    for batch in (
        CellBatch.from_ragged(ragged.take(chosen)),
        ResidentComplexes.of(ragged, {}).to("cpu").batch(chosen),
        collate([ragged[2], ragged[1]]),
    ):
        np.testing.assert_array_equal(batch.descriptors.numpy(), expected)
    moved = CellBatch.from_ragged(ragged).to(torch.device("meta"))
    assert moved.descriptors.device.type == "meta"


def test_resident_descriptors_count_as_memory(ragged):
    bare = ResidentComplexes.of(replace(ragged, descriptors=None), {})
    extra = ResidentComplexes.of(ragged, {}).nbytes - bare.nbytes
    assert extra == COUNTS.nbytes + VALUES.nbytes


def test_complexes_described_differently_are_not_put_together(ragged, tmp_path):
    bare = replace(ragged, descriptors=None)
    with pytest.raises(ValueError, match=r"\(3, 2\) in part 0, None in part 1"):
        RaggedComplexes.concatenate([ragged, bare])
    with pytest.raises(ValueError, match="part 1 has descriptors where part 0 has none"):
        merge_ragged([bare, ragged], tmp_path / "store")


def test_values_join_counts_that_may_be_absent():
    assert with_values(None, None) is None
    assert_equal(with_values(None, VALUES), np.zeros((3, 0), np.uint8), VALUES)
    counts = Descriptors(COUNTS, np.zeros((3, 0), np.float32))
    assert_equal(with_values(counts, VALUES), COUNTS, VALUES)
    assert with_values(counts, None) is counts
