import numpy as np
import pytest

import cellformer as cf
from cellformer.explaining.explain import explain
from cellformer.model.config import ArchitectureConfig
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from tiny import SMILES, write_molecules


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
