from dataclasses import replace

import numpy as np
import pytest

from cellformer.attention.operator import use_attention
from cellformer.complexes.graph import Graph
from cellformer.data.readers.npz import write_npz
from cellformer.experiments.presets import PRESETS
from cellformer.training.config import DataConfig, RunConfig
from cellformer.training.estimating.estimate import estimate
from cellformer.training.estimating.words import told
from cellformer.training.materials.preparation import preparation_of
from tiny import SMILES, write_molecules


def config_of(source, preset="default", **data):
    return replace(PRESETS[preset], data=DataConfig(source=str(source), **data))


def words(found, config):
    return "\n".join(told(found, config))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Two hundred rings of 3 to 12 vertices, the last one of 40."""
    path = tmp_path_factory.mktemp("many") / "many.npz"
    sizes = [*np.random.default_rng(1).integers(3, 13, 199).tolist(), 40]
    graphs = [
        Graph.from_edges([(i, (i + 1) % n) for i in range(n)], vertex_features=np.arange(n) % 3)
        for n in sizes
    ]
    write_npz(path, graphs, np.arange(200.0))
    return path, sum(sizes)


def test_of_a_whole_set_everything_but_the_time_is_exact(many, tmp_path):
    path, total = many
    config = config_of(path, encodings="rwpe:3")
    found = estimate(config, seconds=300.0)
    assert (found.rows, found.sample, found.complexes) == (200, 200, 200)
    assert found.cells[:2].tolist() == [total, total]
    assert found.uncertainty.tolist() == [0, 0, 0]
    assert found.largest.tolist() == [40, 40, 1]
    preparation = preparation_of(config.data, path)
    preparation.stored(preparation.open(path), cache_dir=tmp_path)
    manifest = next((tmp_path / "prepared").glob("*/manifest.json"))
    stored = sum(file.stat().st_size for file in manifest.parent.iterdir())
    assert found.store_bytes == pytest.approx(stored, rel=0.02)
    assert "(exact)" in words(found, config)


def test_of_a_sample_the_totals_are_scaled_up_with_their_uncertainty(many):
    path, total = many
    config = config_of(path, encodings="rwpe:3")
    found = estimate(config, limit=60, seconds=300.0)
    assert found.sample == 60
    assert 0 < found.uncertainty[0] < 0.3 * total
    assert abs(found.cells[0] - total) < 2 * found.uncertainty[0]
    assert found.largest[0] == 40  # the largest graphs are looked at in any case
    assert found.store_bytes == pytest.approx(estimate(config).store_bytes, rel=0.3)
    assert f"extrapolated, +- {found.uncertainty[0]:.0f}" in words(found, config)
    again = estimate(config, limit=60)
    assert again.cells.tolist() == found.cells.tolist()
    one = estimate(config, limit=1)
    assert np.isnan(one.uncertainty).all()


def test_time_is_limited(many):
    assert estimate(config_of(many[0]), seconds=0.0).sample == 1


@pytest.mark.parametrize("over_limit", ["fail", "skip"])
def test_graphs_over_the_limits_are_named(tmp_path, over_limit):
    complete = [(i, j) for i in range(90) for j in range(i)]  # 117,480 triangles
    graphs = [Graph.from_edges([(0, 1), (1, 2)])] * 50
    graphs.insert(33, Graph.from_edges(complete))
    write_npz(tmp_path / "set.npz", graphs, np.zeros(51))
    config = config_of(tmp_path / "set.npz", over_limit=over_limit, encodings="zeros")
    found = estimate(config, limit=10)
    assert [failure.row for failure in found.failures] == [33]
    told_words = words(found, config)
    assert "row 33 is over the lifting's limits: graph 'set[33]' (90 vertices" in told_words
    assert ("training would stop" in told_words) == (over_limit == "fail")
    assert "max_cells=100000" in told_words


def test_rows_without_a_graph_are_told(tmp_path):
    (tmp_path / "set.csv").write_text("smiles,y\nC1CC,1\n" + "".join(f"{s},2\n" for s in SMILES))
    config = config_of(tmp_path / "set.csv", target=("y",))
    found = estimate(config, seconds=300.0)
    assert found.complexes == len(SMILES)
    assert "row 0 has no complex" in words(found, config)
    (tmp_path / "bad.csv").write_text("smiles\nC1CC\n")
    bad = config_of(tmp_path / "bad.csv")
    found = estimate(bad)
    assert (found.complexes, found.step) == (0, None)
    assert "row 0 has no complex" in words(found, bad)
    (tmp_path / "none.csv").write_text("smiles\n")
    with pytest.raises(ValueError, match="has no rows"):
        estimate(config_of(tmp_path / "none.csv"))


def test_names_and_smiles_are_sources_too(real_data):
    ring = estimate(config_of("c1ccc2ccccc2c1"))
    assert ring.cells.tolist() == [10, 11, 2]
    found = estimate(config_of("molhiv", encodings="zeros"), limit=20)
    assert (found.rows, found.sample) == (41127, 20)
    assert found.largest[0] >= 222


def test_a_large_mesh_is_tried_on_pieces(real_data, monkeypatch):
    mesh = config_of(real_data / "extra" / "mesh_ant.ply", encodings="rwpe")
    whole = estimate(mesh)
    assert whole.cells.tolist() == [486, 1368, 912]
    assert not whole.in_pieces
    monkeypatch.setattr("cellformer.training.estimating.estimate.PROBE_CELLS", 1000)
    monkeypatch.setattr("cellformer.training.estimating.estimate.PROBE_NUMBERS", 64 * 1000)
    part = estimate(mesh)
    assert part.in_pieces
    assert part.cells.tolist() == whole.cells.tolist()
    assert part.store_bytes == whole.store_bytes
    assert part.step.bytes_per_cell == pytest.approx(whole.step.bytes_per_cell, rel=0.1)
    assert "at least" in words(part, mesh)


def test_what_does_not_fit_is_warned_of(tmp_path):
    config = config_of(write_molecules(tmp_path / "set.npz", np.arange(24.0)))
    found = estimate(config, seconds=300.0)
    assert "warning" not in words(found, config)
    huge = replace(found, largest=np.array([10**6, 3 * 10**6, 2 * 10**6]))
    assert "warning" not in words(huge, config)
    dense: RunConfig = replace(config, attention="pairwise-mixed")
    assert "warning" not in words(huge, dense)  # the fused kernel keeps nothing by pair
    general: RunConfig = replace(config, attention="general-dense")
    with use_attention("reference"):
        assert "dense attention within the largest complex seen takes 324 TB" in words(huge, dense)
        assert "use pairwise-sparse or general-sparse" in words(huge, general)
    wide = replace(found, step=replace(found.step, bytes_per_cell=1e12))
    assert "a step takes more than" in words(wide, config)
