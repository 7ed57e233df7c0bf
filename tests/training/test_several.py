import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cellformer.model.config import ArchitectureConfig
from cellformer.training import several
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.answers.predict import predict
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.several import (
    cross_validate,
    describe_several,
    resume_several,
    train_ensemble,
)
from cellformer.training.train import train
from tiny import SMILES, with_training

SIZES = [float(len(text)) for text in SMILES]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    source = tmp_path_factory.mktemp("several") / "set.csv"
    pd.DataFrame({"smiles": SMILES, "y": SIZES}).to_csv(source, index=False)
    return RunConfig(
        data=DataConfig(source=str(source), target=("y",), encodings="rwpe:2", lifting="skeleton",
                        fractions=(0.5, 0.25, 0.25)),
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=2, batch_size=8, device="cpu"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def ensemble(config, tmp_path_factory):
    """Two members; its folder and its summary."""
    path = tmp_path_factory.mktemp("ensemble") / "run"
    return path, train_ensemble(config, path, 2)


def test_an_ensemble_is_the_mean_of_runs_that_differ_in_their_seed(config, ensemble, tmp_path):
    path, summary = ensemble
    alone = train(with_training(config, seed=1), tmp_path / "alone")
    assert alone.scores["best"] == summary.members["seed-1"]
    apart = [predict(path / f"seed-{seed}", config.data.source)["prediction"] for seed in (0, 1)]
    both = predict(path, config.data.source)
    np.testing.assert_allclose(both["prediction"], np.mean(apart, axis=0), rtol=1e-5)
    np.testing.assert_allclose(both["uncertainty"], np.std(apart, axis=0, ddof=1), rtol=1e-3)
    assert evaluate(path)["scores"] == summary.pooled["test"]
    assert evaluate(path)["members"] == 2
    values = [its["test"]["mae"] for its in summary.members.values()]
    assert summary.mean["test"]["mae"] == pytest.approx(np.mean(values))
    assert summary.deviation["test"]["mae"] == pytest.approx(np.std(values, ddof=1))
    assert "all together: test mae" in describe_several(summary)
    told = pd.read_csv(path / "predictions.csv")
    assert told["part"].tolist() == ["val"] * 6 + ["test"] * 6
    np.testing.assert_allclose(told["prediction"], both["prediction"][told["row"]], rtol=1e-5)
    tested = told[told["part"] == "test"]
    error = (tested["truth"] - tested["prediction"]).abs().mean()
    assert error == pytest.approx(summary.pooled["test"]["mae"], rel=1e-5)


def test_a_cross_validation_tests_every_row_once_and_calibrates_on_all(config, tmp_path):
    path = tmp_path / "run"
    config = replace(config, data=replace(config.data, fractions=None))
    summary = cross_validate(config, path, 3)
    rows = [
        json.loads((path / f"fold-{fold}" / "summary.json").read_text())["complexes"]["test"]
        for fold in range(3)
    ]
    assert rows == [8, 8, 8]
    assert list(summary.members) == ["fold-0", "fold-1", "fold-2"]
    told = pd.read_csv(path / "predictions.csv")
    assert sorted(told["row"]) == list(range(24))
    assert set(told["part"]) == {"test"}
    for fold in range(3):
        own = pd.read_csv(path / f"fold-{fold}" / "predictions.csv").query("part == 'test'")
        both = own.merge(told, on=["row", "truth"], suffixes=("", "_kept"))
        assert len(both) == 8
        np.testing.assert_array_equal(both["prediction"], both["prediction_kept"])
    frame = predict(path, config.data.source, interval=0.95)
    errors = json.loads((path / "residuals.json").read_text())["errors"]["y"]
    assert len(errors) == 24
    np.testing.assert_allclose(frame["upper"] - frame["prediction"], errors[-1], rtol=1e-4)
    with pytest.raises(ValueError, match="is a cross-validation"):
        evaluate(path)
    assert evaluate(path, config.data.source)["complexes"] == 24


def test_an_interrupted_ensemble_goes_on_to_the_same_result(
    config, ensemble, tmp_path, monkeypatch
):
    folder, whole = ensemble

    def interrupted(its, path, stop_after=None, data=None, launcher=None):
        if its.training.seed == 1:
            train(its, path, stop_after=1)  # half of it
            (path / "summary.json").unlink()
            raise TrainingInterrupted(path, 2)
        return train(its, path)

    with monkeypatch.context() as patch:
        patch.setattr(several, "train", interrupted)
        with pytest.raises(TrainingInterrupted, match=r"--resume \S+cut$"):
            train_ensemble(config, tmp_path / "cut", 2)
    again = resume_several(tmp_path / "cut")
    assert again.pooled == whole.pooled
    assert resume_several(tmp_path / "cut") == again  # finished: left as it is
    for name in ("seed-0", "seed-1"):
        weights = [RunFolder(f / name).weights("last") for f in (folder, tmp_path / "cut")]
        assert weights[0].read_bytes() == weights[1].read_bytes()


def test_an_ensemble_of_classes_has_probabilities_with_a_spread(config, tmp_path):
    source = tmp_path / "classes.csv"
    names = [("small", "middle", "large")[number % 3] for number in range(len(SMILES))]
    pd.DataFrame({"smiles": SMILES, "y": names}).to_csv(source, index=False)
    # Members whose prediction is all of the kernels, which have no seed, would be of one mind.
    data = replace(config.data, source=str(source), molecule_descriptors="none")
    config = with_training(replace(config, data=data), class_weights="balanced")
    train_ensemble(config, tmp_path / "run", 2)
    frame = predict(tmp_path / "run", str(source))
    shares = frame[[f"probability_{label}" for label in ("large", "middle", "small")]]
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    assert ((frame["uncertainty"] > 0) & (frame["uncertainty"] < 0.71)).all()
    told = evaluate(tmp_path / "run", str(source))
    assert sum(each["rows"] for each in told["calibration"]["y"]["bins"]) == 24
    with pytest.raises(ValueError, match="no errors to calibrate"):
        predict(tmp_path / "run", str(source), interval=0.9)


@pytest.mark.parametrize("members", [0, 1])
def test_an_ensemble_has_at_least_two_members(config, tmp_path, members):
    with pytest.raises(ValueError, match="at least 2 members"):
        train_ensemble(config, tmp_path / "run", members)
