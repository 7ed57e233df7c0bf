"""How sure a prediction is, from the training to the columns of a table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem

from cellformer.model.config import ArchitectureConfig
from cellformer.run import load
from cellformer.training.answers.conformal import Residuals
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.answers.predict import predict
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.several import train_ensemble
from cellformer.training.sklearn_estimators import CellularClassifier, CellularRegressor
from cellformer.training.train import train
from tiny import SMILES, with_training


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    atoms = [float(Chem.MolFromSmiles(text).GetNumAtoms()) for text in SMILES]
    rows = pd.DataFrame({"smiles": SMILES, "y": atoms, "z": [1000 - 5 * each for each in atoms]})
    rows.loc[::4, "z"] = np.nan
    rows["split"] = ["train"] * 14 + ["val"] * 5 + ["test"] * 5
    file = tmp_path_factory.mktemp("uncertainty") / "table.csv"
    rows.to_csv(file, index=False)
    return RunConfig(
        data=DataConfig(source=str(file), target=("y", "z"), encodings="rwpe:2"),
        model=ArchitectureConfig(width=16, layers=1, heads=2, dropout=0.3),
        training=TrainingConfig(epochs=2, batch_size=8, device="cpu"),
    )


@pytest.fixture(scope="module", params=["gaussian", "quantile(level=0.8)"])
def run(request, config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    train(with_training(config, loss=request.param), folder)
    return folder


def test_predictions_and_scores_tell_it(run):
    told = predict(run, ["CCO", "nonsense", "c1ccccc1CCCCCCCCCC"], interval=0.5)
    good = told["error"] == ""
    assert good.tolist() == [True, False, True]
    assert told["prediction_z"].between(400, 1200)[good].all()  # in its own units
    for target, scale in (("y", 1), ("z", 5)):
        doubt = told[f"uncertainty_{target}"]
        assert doubt[good].between(0.05 * scale, 20 * scale).all()
        assert doubt[2] > doubt[0]  # the longer one is like none that was learned
        widths = told[f"upper_{target}"] - told[f"lower_{target}"]
        assert widths[2] > widths[0] > 0
    scored = evaluate(run, interval=0.5)
    assert set(scored["uncertainty"]["z"]) == {"nll", "deviation", "order"}
    assert 0 < scored["interval"]["half_width"]["y"] < 20
    kept = pd.read_csv(run / "predictions.csv")
    assert (kept["uncertainty_y"] > 0).all()


def test_a_wide_kernel_and_the_cells_tell_it_together(run):
    opened = TrainedRun.open(run)
    assert opened.model.counts.fitted
    assert opened.model.counts.get_buffer("coefficients").shape == (14, 2)
    assert Residuals.read(RunFolder(run).residuals).relative


@pytest.mark.parametrize("loss", ["auto", "gaussian"])
def test_samples_differ_where_dropout_does(loss, config, tmp_path):
    without = replace(config, data=replace(config.data, molecule_descriptors="none"))
    train(with_training(without, loss=loss), tmp_path / "run")
    plain = predict(tmp_path / "run", ["CCO", "c1ccccc1", "x"])
    told = predict(tmp_path / "run", ["CCO", "c1ccccc1", "x"], samples=5)
    again = load(tmp_path / "run", samples=5).predict(["CCO", "c1ccccc1", "x"])
    pd.testing.assert_frame_equal(told, again)
    assert (told["uncertainty_y"][:2] > 0).all()
    assert not np.array_equal(told["prediction_y"][:2], plain["prediction_y"][:2])
    if loss == "gaussian":  # what it learned of the doubt, and more
        assert (told["uncertainty_y"] > 0.5 * plain["uncertainty_y"])[:2].all()
    else:
        assert "uncertainty_y" not in plain
    assert evaluate(tmp_path / "run", samples=3)["samples"] == 3
    with pytest.raises(ValueError, match="calibrate samples"):
        predict(tmp_path / "run", ["CCO"], samples=5, interval=0.5)
    told = predict(tmp_path / "run", ["CCO"], samples=5, interval=0.5, calibrate=config.data.source)
    assert (told["lower_y"] < told["upper_y"]).all()
    with pytest.raises(ValueError, match="samples must be at least 2"):
        predict(tmp_path / "run", ["CCO"], samples=1)


def test_a_model_without_dropout_has_no_samples(config, tmp_path):
    without = replace(config, model=replace(config.model, attention_dropout=0.0, dropout=0.0))
    train(without, tmp_path / "run")
    with pytest.raises(ValueError, match="trained without dropout"):
        predict(tmp_path / "run", ["CCO"], samples=5)


def test_an_ensemble_mixes_what_its_members_tell(config, tmp_path):
    train_ensemble(with_training(config, loss="gaussian", epochs=1), tmp_path / "both", 2)
    molecules = ["CCO", "c1ccccc1", "CCCCCC"]
    both = predict(tmp_path / "both", molecules)
    each = [predict(tmp_path / "both" / f"seed-{seed}", molecules) for seed in (0, 1)]
    means = np.stack([one["prediction_y"] for one in each])
    doubts = np.stack([one["uncertainty_y"] for one in each])
    np.testing.assert_allclose(both["prediction_y"], means.mean(0), rtol=1e-5)
    expected = np.sqrt((doubts**2).mean(0) + means.var(0))
    np.testing.assert_allclose(both["uncertainty_y"], expected, rtol=1e-4)


def test_estimators_tell_it():
    model = CellularRegressor(epochs=1, width=8, layers=1, heads=2, loss="gaussian")
    model.fit(list(SMILES), np.arange(24.0))
    values, doubts = model.predict(list(SMILES), return_std=True)
    assert values.shape == doubts.shape == (24,)
    assert (doubts > 0).all()
    with pytest.raises(ValueError, match="of values, not of classes"):
        CellularClassifier(loss="gaussian").fit(list(SMILES), np.arange(24) % 2)
