from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from cellformer.complexes.examples import cycle
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import Task
from cellformer.training.answers.predictions import predictions_of, write_predictions
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.config import DataConfig
from cellformer.training.materials.materials import gather
from cellformer.training.train import train
from tiny import with_training

FAST = {"lifting": "skeleton", "encodings": "zeros:1", "molecule_descriptors": "none"}


@pytest.fixture
def table(tmp_path):
    """Rows 1 and 4 have no molecule; row 0 trains, 2 and 3 validate, the others are tested."""
    rows = [
        ("C", "train", "no", "no"), ("nonsense", "val", "yes", "no"), ("CC", "val", "yes", ""),
        ("CCC", "val", "no", "yes"), ("", "test", "no", "no"), ("CO", "test", "yes", "no"),
    ]  # fmt: skip
    path = tmp_path / "table.csv"
    pd.DataFrame(rows, columns=["smiles", "part", "a", "b"]).to_csv(path, index=False)
    return DataConfig(source=str(path), split_column="part", target=("a", "b"), **FAST)


def test_rows_are_those_of_the_source_and_classes_have_their_names(table, tmp_path):
    logits = {"val": [[2.0, -1.0], [-2.0, 0.5]], "test": [[0.0, 40.0]]}
    outputs = {part: np.array(rows, np.float32) for part, rows in logits.items()}
    write_predictions(tmp_path / "p.csv", [predictions_of(gather(table), outputs)])
    told = pd.read_csv(tmp_path / "p.csv")
    assert list(told) == ["row", "part", "truth_a", "truth_b", "prediction_a",
                          "probability_a_yes", "prediction_b", "probability_b_yes"]  # fmt: skip
    assert told["row"].tolist() == [2, 3, 5]
    assert told["part"].tolist() == ["val", "val", "test"]
    assert told["truth_a"].tolist() == ["yes", "no", "yes"]
    assert told["truth_b"].fillna("").tolist() == ["", "yes", "no"]
    assert told["prediction_a"].tolist() == ["yes", "no", "yes"]
    assert told["prediction_b"].tolist() == ["no", "yes", "yes"]
    shares = expit(np.concatenate([outputs["val"], outputs["test"]]))
    np.testing.assert_array_equal(told["probability_a_yes"].astype(np.float32), shares[:, 0])
    np.testing.assert_array_equal(told["probability_b_yes"].astype(np.float32), shares[:, 1])


def test_every_class_has_its_probability(table, tmp_path):
    frame = pd.read_csv(table.source)
    frame["c"] = ["x", "x", "y", "z", "x", "y"]
    frame.to_csv(table.source, index=False)
    materials = gather(replace(table, target=("c",)))
    told = predictions_of(materials, {"test": np.array([[0, 1, 3]], np.float32)})
    assert told.iloc[0][["row", "part", "truth", "prediction"]].tolist() == [5, "test", "y", "z"]
    shares = told[["probability_x", "probability_y", "probability_z"]].to_numpy(float)
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("alone", [True, False])
def test_cells_are_numbered_within_their_complex_and_unknown_ones_left_out(alone):
    sizes = (8,) if alone else (4, 5, 3)
    cells = [cycle(size) for size in sizes]
    targets = [np.arange(size) + 10.0 for size in sizes]
    targets[0][1] = np.nan
    split = None if alone else {"train": [0], "val": [1], "test": [2]}
    task = Task("regression", ("y",), "mae", rank=0)
    config = DataConfig(encodings="zeros:1", molecule_descriptors="none")
    config = replace(config, fractions=(0.5, 0.25, 0.25)) if alone else config
    materials = gather(config, source=complex_set(cells, targets, task, split))
    count = {p: len(materials.complexes.targets_of(c)) for p, c in materials.split.items()}
    told = predictions_of(
        materials, {p: np.arange(count[p], dtype=np.float32)[:, None] for p in ("val", "test")}
    )
    assert list(told) == ["row", "cell", "part", "truth", "prediction"]
    assert (told["truth"] == told["cell"] + 10).all()
    assert (told["prediction"] == told["cell"]).all()
    if alone:  # its cells are split
        assert (told["row"] == 0).all()
        assert told["cell"].is_unique
        held_out = (materials.complexes.targets_of(materials.split[p]) for p in ("val", "test"))
        assert len(told) == sum(int(np.isfinite(values).sum()) for values in held_out) > 0
        assert 1 not in told["cell"].tolist()
    else:
        assert told["row"].tolist() == [1] * 5 + [2] * 3


def test_a_run_keeps_what_its_best_weights_say_to_the_last_bit(tiny, tmp_path):
    summary = train(with_training(tiny, epochs=2), tmp_path / "run")
    told = pd.read_csv(tmp_path / "run" / "predictions.csv")
    assert told["row"].tolist() == list(range(16, 24))
    run = TrainedRun.open(tmp_path / "run")
    materials = gather(run.config.data)
    for part in ("val", "test"):
        own = told[told["part"] == part]
        chosen = materials.split[part]
        expected = run.outputs(materials.complexes, chosen)[:, 0]
        np.testing.assert_array_equal(own["prediction"].astype(np.float32), expected)
        truth = materials.complexes.targets_of(chosen)[:, 0]
        np.testing.assert_array_equal(own["truth"].astype(np.float32), truth)
        error = (own["truth"] - own["prediction"]).abs().mean()
        assert error == pytest.approx(summary.score(part), rel=1e-6)
