"""What is linear in the size of one complex, and what does not grow with the rows of a set."""

import tracemalloc
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import cellformer as cf
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.examples import torus_grid
from cellformer.complexes.many import ragged, store
from cellformer.complexes.many.growing import GrowingStore
from cellformer.complexes.many.manifest import read_manifest
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data import columns, quantities, texts
from cellformer.data.sources import open_source
from cellformer.data.tables import delimited
from cellformer.model.config import ArchitectureConfig, DataShape, DescriptorShape, ModelConfig
from cellformer.model.described import cell_model
from cellformer.model.embedding.unseen import silence_unseen
from cellformer.model.relations.patterns import patterns


def peak_per_cell(side):
    """The most bytes that numpy and scipy held at once, for each cell."""
    tracemalloc.start()
    try:
        batch = cf.collate([cf.encode(torus_grid(side, side), cf.RWPe(8))])
        for plan in (cf.pairwise_sparse(), cf.general_sparse()):
            patterns(batch, plan.relations(batch.dim), False)
        return tracemalloc.get_traced_memory()[1] / sum(batch.num_cells)
    finally:
        tracemalloc.stop()


def test_building_encoding_and_batching_take_linear_memory():
    peak_per_cell(10)  # what is imported and cached at the first use
    small, large = peak_per_cell(30), peak_per_cell(60)
    assert large < 1.1 * small
    assert large < 2000  # bytes; a matrix of all pairs would take 29,000


@contextmanager
def traced():
    """Gives a list, to which the most bytes are added that were held within, above what was."""
    peak: list[int] = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


@pytest.fixture
def few_at_a_time(monkeypatch):
    """What is looked at together is as small beside 2,000 rows as it usually is beside millions."""
    monkeypatch.setattr("cellformer.data.mapped.MAPPED_FROM", 0)
    for name in ("_CHUNK", "BLOCK_BYTES"):
        monkeypatch.setattr(delimited, name, 1 << 14)
    for module, name in (
        (texts, "FEW"), (columns, "STRETCH"), (quantities, "STRETCH"), (ragged, "STRETCH")
    ):  # fmt: skip
        monkeypatch.setattr(module, name, 100)


def test_opening_a_table_holds_numbers_but_no_texts_of_its_rows(tmp_path, few_at_a_time):
    def peak(rows):
        lines = (f"{'C' * 60}{row},{row / 7},a comment on row {row}" for row in range(rows))
        (tmp_path / "t.csv").write_text("\n".join(["smiles,y,note", *lines]))
        with traced() as found:
            open_source(tmp_path / "t.csv", "y")
        return found[0]

    peak(2000)
    growth = (peak(8000) - peak(2000)) / 6000
    assert growth < 60  # bytes; a SMILES alone is 110 as a text of Python


def test_few_numbers_are_held_of_a_column_of_classes_and_of_descriptors(tmp_path, few_at_a_time):
    def peak(rows):
        lines = (f"{'C' * 60}{row},{row / 7},{('small', 'large')[row % 2]}" for row in range(rows))
        (tmp_path / "t.csv").write_text("\n".join(["smiles,y,size", *lines]))
        with traced() as found:
            opened = open_source(tmp_path / "t.csv", "size", columns=["y"])
        assert opened.task.kind == "binary"
        return found[0]

    peak(2000)
    growth = (peak(8000) - peak(2000)) / 6000
    assert growth < 120  # bytes; with a text of Python for each row it is 220


def test_what_training_looks_at_beforehand_does_not_grow_with_its_rows(few_at_a_time):
    one = cf.RaggedComplexes.from_complexes([torus_grid(5, 5)] * 2)
    shape = DescriptorShape(counts=500, mean=(0.0,) * 3, deviation=(1.0,) * 3, blank=(False,) * 3)
    ranks = tuple(replace(r, discrete=np.ones((len(r.discrete), 4), np.int32)) for r in one.ranks)

    def peak(rows):
        many = replace(one, ranks=ranks).take(np.zeros(rows, int))
        counts, values = np.ones((rows, 500), np.uint8), np.ones((rows, 3), np.float32)
        many = replace(many, descriptors=Descriptors(counts, values))
        data = replace(DataShape.of(many), descriptors=shape)
        model = cell_model(
            ModelConfig(ArchitectureConfig(width=8, layers=1), data), cf.general_sparse()
        )
        chosen = np.arange(rows)
        with traced() as found:
            silence_unseen(model, many, chosen)
            DescriptorShape.of(many.descriptors, chosen)
        return found[0]

    peak(500)
    growth = (peak(2000) - peak(500)) / 1500
    assert growth < 40  # bytes; of a row there are 400 categories and 500 counts


def test_little_is_kept_of_each_of_thousands_of_shards(tmp_path):
    one = RaggedComplexes.from_complexes([torus_grid(3, 3)])

    def kept(shards, again):
        folder = tmp_path / f"{shards}-{again}"
        with traced() as found:
            growing = GrowingStore(folder / "growing")
            for _ in range(shards):
                growing.append(one, "[[], null]")
            GrowingStore(folder / "growing").finish(folder / "store", {})
            store._check_bytes(folder / "store", read_manifest(folder / "store")[0])
        return found[0]

    few, many = (min(kept(shards, again) for again in range(2)) for shards in (20, 80))
    assert (many - few) / 60 < 800  # bytes for 2,048 rows; what is written down of them is 2,700
