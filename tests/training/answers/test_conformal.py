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
        assert residuals.reach(level)[0] == np.sort(errors[:, 0])[enough[0] - 1]
    else:
        with pytest.raises(ValueError, match=f"here has {rows} for 'a'"):
            residuals.reach(level)


def test_intervals_cover_what_they_promise_on_average():
    generator = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        calibration, new = generator.standard_t(3, size=(2, 99, 2))
        residuals = Residuals.of(TASK, calibration, np.zeros((99, 2)), "")
        covered.append(coverage(*residuals.interval(TASK, new, 0.9), np.zeros((99, 2))))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.01)


def test_missing_targets_are_left_out_everywhere():
    values = np.array([[1.0, 5], [2, 6], [3, 7]])
    targets = np.array([[1.5, NAN], [NAN, NAN], [2.75, NAN]])
    residuals = Residuals.of(TASK, values, targets, "set")
    assert residuals.errors[0].tolist() == [0.25, 0.5]
    assert len(residuals.errors[1]) == 0
    share = coverage(values - 0.3, values + 0.3, targets)
    assert share[0] == 0.5
    assert np.isnan(share[1])


def test_intervals_are_wide_where_the_model_is_in_doubt():
    generator = np.random.default_rng(0)
    task, covered = Task("regression", ("a",), "mae"), []
    for _ in range(200):
        doubt = generator.uniform(0.1, 10, size=(2, 199, 2))  # below and above
        shift = generator.standard_t(3, size=(2, 199, 1))
        truth = np.where(shift < 0, doubt[..., :1], doubt[..., 1:]) * shift
        outputs = np.concatenate([np.zeros((2, 199, 1)), doubt], axis=2)
        residuals = Residuals.of(task, outputs[0], truth[0], "set")
        lower, upper = residuals.interval(task, outputs[1], 0.9)
        np.testing.assert_allclose(-lower / upper, doubt[1, :, :1] / doubt[1, :, 1:])
        surest = doubt[1].sum(1) < 5
        covered.append([coverage(lower[part], upper[part], truth[1, part])
                        for part in (surest, ~surest)])  # fmt: skip
    np.testing.assert_allclose(np.mean(covered, axis=0), 0.9, atol=0.02)


def test_errors_in_two_units_do_not_go_together():
    values, with_doubts = np.zeros((9, 2)), np.ones((9, 6))
    for one, other in ((values, with_doubts), (with_doubts, values)):
        with pytest.raises(ValueError, match="unlike these predictions"):
            Residuals.of(TASK, one, values, "set").interval(TASK, other, 0.5)


def test_errors_survive_a_file_and_damage_is_named(tmp_path):
    outputs = np.random.default_rng(0).random((20, 6))
    residuals = Residuals.of(TASK, outputs, np.zeros((20, 2)), "set")
    path = tmp_path / "residuals.json"
    residuals.write(path)
    again = Residuals.read(path)
    assert (again.targets, again.source, again.relative) == (("a", "b"), "set", True)
    np.testing.assert_array_equal(again.reach(0.8), residuals.reach(0.8))
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
        residuals.reach(float(level))


def test_classes_have_no_intervals():
    with pytest.raises(ValueError, match="for regression"):
        Residuals.of(
            Task("binary", ("a",), "rocauc", (0, 1)), np.zeros((1, 1)), np.zeros((1, 1)), ""
        )


def test_nine_of_ten_intervals_hold_on_a_held_out_half_of_lipophilicity(real_data, tmp_path):
    frame = pd.read_csv(real_data / "extra/lipophilicity.csv.gz").sample(frac=1, random_state=0)
    learned, calibration, held_out = frame[:300], frame[300:900], frame[900:1500]
    learned.to_csv(tmp_path / "set.csv", index=False)
    config = RunConfig(
        data=DataConfig(source=str(tmp_path / "set.csv"), target=("exp",), lifting="skeleton",
                        encodings="zeros:1", fractions=(0.9, 0.1, 0.0),
                        molecule_descriptors="none"),
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=2, device="cpu"),
    )  # fmt: skip
    train(config, tmp_path / "run")
    told = evaluate(tmp_path / "run", held_out, interval=0.9, calibrate=calibration)
    assert 0.85 <= told["interval"]["coverage"]["exp"] <= 0.95
