import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cellformer.data.dataset import Task
from cellformer.training.evaluate import evaluate
from cellformer.training.fit import train
from cellformer.training.predict import columns_of, predict
from tiny import with_training

HEADER = ("name", "smiles", "solubility", "prediction")
ROWS = [
    ("ethanol, pure", "CCO", "1.0", "x"),
    ("bad", "C1CC", "2.0", "x"),
    ("benzene", "c1ccccc1", "", "x"),
    ("empty", "", "0.5", "x"),
    ("salt", "[Na+].[Cl-]", "3.25", "x"),
    ("methane", "C", "4.5", "x"),
    ("ethanol again", "CCO", "1.0", "x"),
]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([HEADER, *ROWS, *ROWS])
    return path


@pytest.fixture
def run(tiny, table, tmp_path):
    config = replace(
        tiny,
        data=replace(tiny.data, source=str(table), target=("solubility",), split="random",
                     fractions=(0.6, 0.2, 0.2)),
    )  # fmt: skip
    train(with_training(config, epochs=2), tmp_path / "run")
    return tmp_path / "run"


def test_all_rows_and_columns_come_back_in_order_with_reasons_for_failures(run, table):
    frame = predict(run, str(table))
    assert list(frame.columns) == [*HEADER, "prediction_2", "error"]
    assert [tuple(row) for row in frame[list(HEADER)].itertuples(index=False)] == [*ROWS, *ROWS]
    failed = frame["error"] != ""
    assert failed.tolist() == [False, True, False, True, False, False, False] * 2
    assert frame["prediction_2"].isna().tolist() == failed.tolist()
    assert "C1CC" in frame["error"][1]
    assert "empty" in frame["error"][3]


def test_equal_molecules_get_equal_predictions(run, table):
    values = predict(run, str(table))["prediction_2"]
    assert values[0] == pytest.approx(values[6], abs=1e-5)


def test_evaluate_and_predict_agree(run, table):
    frame = predict(run, str(table))
    known = (frame["error"] == "") & (frame["solubility"] != "")
    error = (frame["prediction_2"] - pd.to_numeric(frame["solubility"]))[known].abs().mean()
    assert evaluate(run, str(table))["scores"]["mae"] == pytest.approx(error, rel=1e-5)


def test_evaluating_the_test_part_gives_the_score_of_the_summary(tiny, tmp_path):
    summary = train(with_training(tiny, epochs=2), tmp_path / "run")
    for which in ("best", "last"):
        result = evaluate(tmp_path / "run", part="test", weights=which)
        assert result["scores"] == summary["scores"][which]["test"]


def test_predicting_without_targets_works_and_evaluating_names_what_is_missing(run, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("smiles\nCCO\n")
    assert np.isfinite(predict(run, str(path))["prediction"]).all()
    with pytest.raises(ValueError, match="lacks the targets of this run: solubility"):
        evaluate(run, str(path))


def test_an_atom_never_seen_in_training_is_predicted_all_the_same(run, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("smiles\n[U]\nC[Hg]C\n")
    assert np.isfinite(predict(run, str(path))["prediction"]).all()


def test_a_table_of_failures_only_comes_back_whole(run, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("smiles,solubility\nC1CC,no number\nxyz,\n")
    frame = predict(run, str(path))
    assert frame["smiles"].tolist() == ["C1CC", "xyz"]
    assert frame["prediction"].isna().all()
    assert (frame["error"] != "").all()


def test_an_empty_table_comes_back_empty(run, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("smiles,name\n")
    frame = predict(run, str(path))
    assert list(frame.columns) == ["smiles", "name", "prediction", "error"]
    assert len(frame) == 0


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        predict(tmp_path / "nothing", "nci")


def test_damaged_weights_are_named(run, table):
    (run / "best.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"best.safetensors: these weights cannot be loaded"):
        predict(run, str(table))


def test_classes_come_as_labels_and_probabilities():
    outputs = np.array([[2.0, 0.0, 0.0], [np.nan] * 3, [0.0, 0.0, 5.0]])
    columns = columns_of(Task("multiclass", ("c",), "accuracy", ("x", "y", "z")), outputs[None])
    assert columns["prediction"] == ["x", None, "z"]
    shares = np.stack([columns[f"probability_{label}"] for label in "xyz"], axis=1)
    assert np.allclose(shares[[0, 2]].sum(axis=1), 1)
    both = columns_of(
        Task("binary", ("a", "b"), "rocauc", ("no", "yes")), np.array([[[3.0, -3.0]]])
    )
    assert both["prediction_a"] == ["yes"]
    assert both["prediction_b"] == ["no"]
    assert both["probability_a"] == pytest.approx([1 / (1 + np.exp(-3))])
