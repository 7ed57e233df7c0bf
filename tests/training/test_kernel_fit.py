"""The regression by kernels, from a table to a prediction."""

import json
import logging
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from rdkit import Chem
from safetensors.torch import load_file

from cellformer.model.config import ArchitectureConfig
from cellformer.training.answers import kernel_fit
from cellformer.training.answers.predict import predict
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.loop.answering import answering
from cellformer.training.runs.summary import Summary
from cellformer.training.train import resume, train
from tiny import SMILES

SMALL = ArchitectureConfig(width=8, layers=1, heads=2)


@pytest.fixture(scope="module")
def frame():
    atoms = [float(Chem.MolFromSmiles(text).GetNumAtoms()) for text in SMILES]
    rows = pd.DataFrame({"smiles": SMILES, "y": atoms})
    rows["big"] = np.where(rows["y"] > rows["y"].median(), "yes", "no")
    rows["size"] = pd.cut(rows["y"], 3, labels=["small", "middle", "large"]).astype(str)
    rows["z"] = rows["y"].where(rows.index % 3 > 0)
    rows["split"] = ["train"] * 14 + ["val"] * 5 + ["test"] * 5
    return rows


def run_of(frame, folder, *target, **training):
    file = folder / "table.csv"
    frame.to_csv(file, index=False)
    config = RunConfig(
        data=DataConfig(source=str(file), target=target, encodings="rwpe:2"),
        model=SMALL,
        training=TrainingConfig(epochs=2, batch_size=8, device="cpu", **training),
    )
    train(config, folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def run(frame, tmp_path_factory):
    return run_of(frame, tmp_path_factory.mktemp("kernel"), "y", "z")


def test_what_the_kernels_know_is_predicted(run, frame):
    summary = json.loads((run / "summary.json").read_text())
    assert summary["scores"]["best"]["val"]["mae"] < 0.8 * summary["baseline"]["val"]["mae"]
    head = TrainedRun.open(run).model.counts
    assert head.fitted
    assert len(head.get_buffer("ends")) == 14


def test_the_training_rows_alone_are_references(run, frame, tmp_path):
    changed = frame.copy()
    changed.loc[14:, "y"] = -changed["y"]
    other = run_of(changed, tmp_path, "y", "z")
    for which in ("best", "last"):
        mine, theirs = (load_file(each / f"{which}.safetensors") for each in (run, other))
        for name in ("columns", "counts", "ends", "values", "coefficients", "weights", "scales"):
            assert torch.equal(mine[f"counts.{name}"], theirs[f"counts.{name}"])


def test_the_log_says_which_score_is_of_the_cells_alone_and_which_of_both(frame, tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        run = run_of(frame, tmp_path, "y")
    assert answering(TrainedRun.open(run).model) == " of the cells alone"
    summary = Summary.read(run)
    kept = pd.read_csv(run / "curve.csv")
    curve, joint = kept["val_mae"], kept["val_mae_joint"]
    best = summary.best_epoch
    np.testing.assert_allclose(joint[best - 1], summary.score("val"), rtol=1e-5)
    np.testing.assert_allclose(joint.iloc[-1], summary.scores["last"]["val"]["mae"], rtol=1e-5)
    assert (joint < curve).all()
    assert caplog.text.count(" of the cells alone, ") == 3  # two epochs, and the end
    assert (
        f"epoch {best}, the best: validation mae {curve[best - 1]:.4f} of the cells alone, "
        f"{summary.score('val'):.4f} with the fingerprints' share"
    ) in caplog.text
    assert f"{curve[0]:.4f} of the cells alone, {joint[0]:.4f} with the fingerprints' share, " in (
        caplog.text
    )


def test_rows_alone_are_predicted_as_together(run, frame):
    whole = predict(run, frame)
    alone = pd.concat([predict(run, frame[row : row + 1]) for row in (0, 15, 23)])
    for column in ("prediction_y", "prediction_z"):
        np.testing.assert_allclose(alone[column], whole[column][[0, 15, 23]], rtol=1e-5)


@pytest.mark.parametrize("target", ["big", "size"])
def test_classes_are_predicted_with_a_likelihood(target, frame, tmp_path):
    run = run_of(frame, tmp_path, target)
    summary = json.loads((run / "summary.json").read_text())
    assert TrainedRun.open(run).model.counts.fitted
    told = predict(run, frame)
    likelihoods = told[[name for name in told if name.startswith("prob")]]
    assert np.isfinite(likelihoods.to_numpy(float)).all()
    assert summary["scores"]["best"]["val"]["accuracy"] >= 0.6


def test_weights_of_classes_move_the_logits(frame, tmp_path):
    plain, weighted = tmp_path / "plain", tmp_path / "weighted"
    plain.mkdir(), weighted.mkdir()
    rare = frame.assign(rare=np.where(frame["y"] > frame["y"].quantile(0.75), "yes", "no"))
    runs = [run_of(rare, plain, "rare"), run_of(rare, weighted, "rare", class_weights="balanced")]
    offsets = [float(TrainedRun.open(run).model.counts.get_buffer("offset")) for run in runs]
    assert offsets[1] > offsets[0] + 0.1


def test_half_precision_is_for_the_cells_alone(frame, tmp_path):
    run = run_of(frame, tmp_path, "y", precision="bf16-mixed")
    assert np.isfinite(predict(run, frame)["prediction"]).all()


def test_more_training_rows_than_are_compared(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_fit, "MOST_REFERENCES", 9)
    monkeypatch.setattr(kernel_fit, "MOST_COMPARED", 5)
    run = run_of(frame, tmp_path, "y")
    assert len(TrainedRun.open(run).model.counts.get_buffer("ends")) == 9
    assert np.isfinite(predict(run, frame)["prediction"]).all()


def test_a_resumed_run_is_fitted_alike(run, frame, tmp_path):
    file = tmp_path / "table.csv"
    frame.to_csv(file, index=False)
    config = RunConfig.from_json(run / "config.json")
    config = replace(config, data=replace(config.data, source=str(file)))
    train(config, tmp_path / "parts", stop_after=1)
    (tmp_path / "parts" / "summary.json").unlink()
    resume(tmp_path / "parts")
    for which in ("best", "last"):
        mine, theirs = (each / f"{which}.safetensors" for each in (run, tmp_path / "parts"))
        assert mine.read_bytes() == theirs.read_bytes()
