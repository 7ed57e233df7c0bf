import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.data.dataset import Task
from cellformer.model.config import ArchitectureConfig
from cellformer.training.answers.conformal import Residuals, coverage
from cellformer.training.answers.evaluate import evaluate
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig
from cellformer.training.train import train

TASK = Task("regression", ("a", "b"), "mae")
NAN = np.nan


@given(st.integers(1, 60), st.floats(0.05, 0.95), st.integers(0, 9))
@settings(deadline=None, max_examples=60)
def test_the_width_is_the_smallest_that_the_theorem_allows(rows, level, seed):
    errors = np.random.default_rng(seed).exponential(size=(rows, 1))
    residuals = Residuals.of(Task("regression", ("a",), "mae"), errors, np.zeros((rows, 1)), "here")
    # Of n + 1 exchangeable errors the new one is among the k smallest in k of n + 1 cases.
    enough = [k for k in range(1, rows + 1) if k / (rows + 1) >= level - 1e-12]
    if enough:
        assert residuals.half_widths(level)[0] == np.sort(errors[:, 0])[enough[0] - 1]
    else:
        with pytest.raises(ValueError, match=f"here has {rows} for 'a'"):
            residuals.half_widths(level)


def test_intervals_cover_what_they_promise_on_average():
    generator = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        calibration, new = generator.standard_t(3, size=(2, 99, 2))
        widths = Residuals.of(TASK, calibration, np.zeros((99, 2)), "").half_widths(0.9)
        covered.append(coverage(new, np.zeros((99, 2)), widths))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.01)


def test_missing_targets_are_left_out_everywhere():
    values = np.array([[1.0, 5], [2, 6], [3, 7]])
    targets = np.array([[1.5, NAN], [NAN, NAN], [2.75, NAN]])
    residuals = Residuals.of(TASK, values, targets, "set")
    assert residuals.errors[0].tolist() == [0.25, 0.5]
    assert len(residuals.errors[1]) == 0
    share = coverage(values, targets, np.array([0.3, 1.0]))
    assert share[0] == 0.5
    assert np.isnan(share[1])


def test_errors_survive_a_file_and_damage_is_named(tmp_path):
    residuals = Residuals.of(TASK, np.random.rand(20, 2), np.zeros((20, 2)), "set")  # noqa: NPY002
    path = tmp_path / "residuals.json"
    residuals.write(path)
    again = Residuals.read(path)
    assert (again.targets, again.source) == (("a", "b"), "set")
    np.testing.assert_array_equal(again.half_widths(0.8), residuals.half_widths(0.8))
    for text in ("nonsense", "[]", '{"format": 1}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"residuals\.json"):
            Residuals.read(path)


def test_errors_of_several_models_are_joined():
    parts = [
        Residuals.of(TASK, np.full((2, 2), value), np.zeros((2, 2)), "set") for value in (3.0, 1.0)
    ]
    assert Residuals.joined(parts).errors[1].tolist() == [1, 1, 3, 3]


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 90])
def test_a_level_is_a_probability(level):
    residuals = Residuals.of(TASK, np.zeros((9, 2)), np.zeros((9, 2)), "set")
    with pytest.raises(ValueError, match="between 0 and 1"):
        residuals.half_widths(float(level))


def test_classes_have_no_intervals():
    with pytest.raises(ValueError, match="for regression"):
        Residuals.of(
            Task("binary", ("a",), "rocauc", (0, 1)), np.zeros((1, 1)), np.zeros((1, 1)), ""
        )


def test_nine_of_ten_intervals_hold_on_a_held_out_half_of_lipophilicity(real_data, tmp_path):
    frame = pd.read_csv(real_data / "extra/lipophilicity.csv.gz").sample(frac=1, random_state=0)
    learned, calibration, held_out = frame[:800], frame[800:2500], frame[2500:]
    learned.to_csv(tmp_path / "set.csv", index=False)
    config = RunConfig(
        data=DataConfig(source=str(tmp_path / "set.csv"), target=("exp",), lifting="skeleton",
                        encodings="zeros:1", fractions=(0.9, 0.1, 0.0)),
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=2, device="cpu"),
    )  # fmt: skip
    train(config, tmp_path / "run")
    told = evaluate(tmp_path / "run", held_out, interval=0.9, calibrate=calibration)
    assert 0.85 <= told["interval"]["coverage"]["exp"] <= 0.95
