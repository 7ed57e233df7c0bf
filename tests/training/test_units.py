"""Units of a table's columns from training to prediction."""

import json

import pandas as pd
import pytest

from cellformer.model.config import ArchitectureConfig
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.answers.predict import predict
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.train import resume, train
from tiny import SMILES


@pytest.fixture(scope="module")
def frame():
    rows = range(len(SMILES))
    return pd.DataFrame(
        {
            "smiles": SMILES,
            "T": [f"{10 + row} K" for row in rows],
            "y": [f"{row},25 nM" if row != 5 else "n.d." for row in rows],
        }
    )


@pytest.fixture(scope="module")
def run(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("units")
    frame.to_csv(folder / "table.csv", index=False, sep=";")
    data = DataConfig(
        source=str(folder / "table.csv"), target=("y",), descriptors=("T",),
        encodings="rwpe:2", molecule_descriptors="none",
    )  # fmt: skip
    training = TrainingConfig(epochs=2, batch_size=8, device="cpu")
    model = ArchitectureConfig(width=16, layers=1, heads=2)
    train(RunConfig(data, model=model, training=training), folder / "run", stop_after=1)
    resume(folder / "run")
    return folder / "run"


def test_a_run_keeps_the_units_and_predictions_tell_that_of_the_target(run, frame, caplog):
    assert json.loads((run / "model.json").read_text())["task"]["units"] == ["nM"]
    assert json.loads((run / "preparation.json").read_text())["column_units"] == ["K"]
    with caplog.at_level("INFO"):
        told = predict(run, frame.drop(columns="y"))
    assert "predictions of y are in nM" in caplog.text
    assert (told["error"] == "").all()


def test_plain_numbers_are_taken_in_the_unit_learned(run, frame):
    plain = frame.assign(T=[str(10 + row) for row in range(len(frame))])
    pd.testing.assert_series_equal(
        predict(run, plain)["prediction"], predict(run, frame)["prediction"]
    )


def test_values_in_another_unit_are_refused(run, frame):
    warm = frame.assign(T=["5 °C", *frame["T"][1:]])
    told = predict(run, warm)
    assert told["error"][0] == "column 'T' is '5 °C', in another unit than learned from (K)"
    assert (told["error"][1:] == "").all()
    with pytest.raises(ValueError, match="'y' is in uM, but the model has learned it in nM"):
        evaluate(run, frame.assign(y="5 uM"))
