import numpy as np
import pytest

import cellformer as cf
from cellformer.explaining.explain import explain
from cellformer.model.config import ArchitectureConfig
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from tiny import SMILES, tiny_run, write_molecules


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    sizes = np.array([cf.Graph.from_smiles(text).num_vertices for text in SMILES], float)
    source = write_molecules(folder / "molecules.npz", 100 * sizes)
    config = RunConfig(
        data=DataConfig(source=str(source), encodings="rwpe:4"),
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=1, device="cpu"),
    )
    cf.train(config, folder / "run")
    return TrainedRun.open(folder / "run")


@pytest.mark.parametrize("method", ["occlusion", "gradients"])
def test_contributions_are_in_the_user_s_units(run, method):
    prepared = run.prepare(run.preparation.open(run.config.data.source))
    cells = prepared.complexes[5]
    found = explain(run, cells, method)
    value = float(run.outputs(prepared.complexes, np.array([5]))[0, 0])
    assert found.prediction == pytest.approx(value, rel=1e-4)
    if method == "gradients":
        deviation = run.recipe.scaling.deviation[0]
        difference = found.prediction - found.reference
        assert found.total == pytest.approx(difference, abs=1e-3 * deviation)
    with pytest.raises(ValueError, match="outputs are 0 to 0"):
        explain(run, cells, method, output=1)


def test_a_prediction_of_fingerprints_tells_the_share_of_its_cells(tmp_path):
    """By hand: a share that is set is told, and the contributions are as much smaller."""
    table = tmp_path / "t.csv"
    table.write_text("smiles,y\n" + "".join(f"{text},{len(text)}.5\n" for text in SMILES))
    cf.train(tiny_run(table, epochs=1, target=("y",)), tmp_path / "run")
    run = TrainedRun.open(tmp_path / "run")
    cells = run.preparation.one("CCO")
    found = {}
    for share in (0.0, 0.75, 0.999):
        run.model.counts.get_buffer("share").fill_(share)
        found[share] = explain(run, cells)
    told = [one.told for one in found.values()]
    assert told[0] == ""
    assert told[1] == "cells have 0.25 of it, fingerprints the rest"
    assert "less than 0.01" in told[2]
    for whole, part in zip(found[0.0].ranks, found[0.75].ranks, strict=True):
        np.testing.assert_allclose(part, 0.25 * whole, rtol=1e-3, atol=1e-5)
