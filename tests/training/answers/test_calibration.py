import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from scipy.stats import norm
from sklearn.metrics import brier_score_loss, log_loss
from torchmetrics.functional.classification import (
    binary_calibration_error,
    multiclass_calibration_error,
)

from cellformer.data.dataset import Task
from cellformer.training.answers.calibration import doubts_judged, reliability

RANDOM = np.random.default_rng(0)
BINARY = Task("binary", ("a", "b"), "rocauc", (0, 1))
CLASSES = Task("multiclass", ("a",), "accuracy", ("x", "y", "z"))


def test_binary_figures_agree_with_torchmetrics_and_sklearn():
    outputs = RANDOM.normal(size=(300, 2)) * 2
    targets = (RANDOM.random((300, 2)) < expit(outputs / 2)).astype(float)
    targets[:50, 1] = np.nan
    told = reliability(BINARY, outputs, targets)
    for column, name in enumerate("ab"):
        known = ~np.isnan(targets[:, column])
        shares, truth = expit(outputs[known, column]), targets[known, column].astype(int)
        assert told[name]["brier"] == pytest.approx(brier_score_loss(truth, shares))
        assert told[name]["log_loss"] == pytest.approx(log_loss(truth, shares))
        bins = told[name]["bins"]
        assert sum(each["rows"] for each in bins) == known.sum()
        expected = [
            (shares[chosen].mean(), truth[chosen].mean(), chosen.sum())
            for low in np.arange(10) / 10
            if (chosen := (shares >= low) & (shares < low + 0.1)).any()
        ]
        for each, (mean, share, rows) in zip(bins, expected, strict=True):
            assert each["probability"] == pytest.approx(mean)
            assert each["came_true"] == pytest.approx(share)
            assert each["rows"] == rows
        # torchmetrics bins the confidence in the positive class too
        assert told[name]["ece"] == pytest.approx(
            float(binary_calibration_error(torch.tensor(shares), torch.tensor(truth), n_bins=10)),
            abs=1e-5,
        )


def test_multiclass_figures_agree_with_torchmetrics_and_sklearn():
    outputs, targets = RANDOM.normal(size=(200, 3)), RANDOM.integers(0, 3, (200, 1)).astype(float)
    told = reliability(CLASSES, outputs, targets)["a"]
    shares, truth = softmax(outputs, axis=1), targets[:, 0].astype(int)
    expected = multiclass_calibration_error(
        torch.tensor(shares), torch.tensor(truth), num_classes=3, n_bins=10
    )
    assert told["ece"] == pytest.approx(float(expected), abs=1e-5)
    assert told["log_loss"] == pytest.approx(log_loss(truth, shares))
    assert told["brier"] == pytest.approx(((shares - np.eye(3)[truth]) ** 2).sum(1).mean())


def test_perfect_and_hopeless_predictions():
    outputs, targets = np.array([[100.0], [-100.0]]), np.array([[1.0], [0.0]])
    task = Task("binary", ("a",), "rocauc", (0, 1))
    told = reliability(task, outputs, targets)["a"]
    assert (told["ece"], told["brier"]) == (pytest.approx(0, abs=1e-9), pytest.approx(0, abs=1e-9))
    assert np.isfinite(reliability(task, outputs * 100, 1 - targets)["a"]["log_loss"])


def test_targets_without_values_and_regressions_have_no_figures():
    assert reliability(BINARY, np.zeros((2, 2)), np.full((2, 2), np.nan)) == {}
    assert reliability(Task("regression", ("a",), "mae"), np.zeros((2, 1)), np.zeros((2, 1))) == {}


def test_deviations_are_judged_by_what_comes_true():
    task = Task("regression", ("a", "b"), "mae")
    deviation = np.tile(np.linspace(0.5, 2, 4000)[:, None], 2)
    errors = np.random.default_rng(0).normal(size=(4000, 2)) * deviation
    targets = np.stack([errors[:, 0], np.where(np.arange(4000) < 1, 3.0, np.nan)], axis=1)
    told = doubts_judged(task, np.zeros((4000, 2)), targets, deviation)
    assert list(told) == ["a"]  # of the other there is one value
    assert told["a"]["deviation"] == pytest.approx(1, abs=0.03)
    assert told["a"]["nll"] == pytest.approx(-norm(0, deviation[:, 0]).logpdf(errors[:, 0]).mean())
    assert 0.2 < told["a"]["order"] < 0.6
    none = doubts_judged(task, np.zeros((4000, 2)), targets, np.zeros((4000, 2)))
    assert none["a"] == {"nll": None, "deviation": None, "order": None}
