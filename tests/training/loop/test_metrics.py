import logging
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn import metrics as sklearn

from cellformer.data.dataset import Task
from cellformer.training.loop.metrics import higher_is_better, scores

RANDOM = np.random.default_rng(0)
NAN = float("nan")


def test_regression_scores_agree_with_sklearn():
    task = Task("regression", ("a", "b"), "mae")
    outputs, targets = RANDOM.normal(size=(50, 2)), RANDOM.normal(size=(50, 2))
    found = scores(task, torch.from_numpy(outputs), torch.from_numpy(targets))
    assert found["mae"] == pytest.approx(sklearn.mean_absolute_error(targets, outputs))
    each = [sklearn.root_mean_squared_error(targets[:, k], outputs[:, k]) for k in range(2)]
    assert found["rmse"] == pytest.approx(np.mean(each))


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_r2_and_spearman_agree_with_sklearn_and_scipy(shift):
    task = Task("regression", ("a",), "mae")
    targets = RANDOM.normal(size=40) + shift
    outputs = targets + RANDOM.normal(size=40).round()  # some are equal
    found = scores(task, torch.from_numpy(outputs)[:, None], torch.from_numpy(targets)[:, None])
    assert found["r2"] == pytest.approx(sklearn.r2_score(targets, outputs))
    assert found["spearman"] == pytest.approx(spearmanr(targets, outputs).statistic)
    assert higher_is_better("r2")
    assert higher_is_better("spearman")


@pytest.mark.parametrize("targets", [[1.0], [2.0, 2.0], []])
def test_r2_and_spearman_of_equal_values_are_undefined_and_said_only_where_one_counts(
    targets, caplog
):
    column = torch.tensor(targets)[:, None]
    found = scores(Task("regression", ("a",), "mae"), torch.ones(len(targets), 1), column)
    assert math.isnan(found["r2"])
    assert math.isnan(found["spearman"])
    assert "r2" not in caplog.text
    scores(Task("regression", ("a",), "r2"), torch.ones(len(targets), 1), column)
    assert "r2 of target a is undefined" in caplog.text


def test_binary_scores_agree_with_sklearn_also_for_extreme_logits():
    task = Task("binary", ("a",), "rocauc", (0, 1))
    targets = RANDOM.integers(0, 2, 80)
    outputs = RANDOM.normal(size=80) * 20 + targets
    found = scores(
        task, torch.from_numpy(outputs)[:, None], torch.tensor(targets)[:, None].double()
    )
    assert found["rocauc"] == pytest.approx(sklearn.roc_auc_score(targets, outputs))
    precision = sklearn.average_precision_score(targets, outputs)
    assert found["average_precision"] == pytest.approx(precision)
    assert found["accuracy"] == pytest.approx(sklearn.accuracy_score(targets, outputs > 0))


def test_multiclass_accuracy_agrees_with_sklearn():
    task = Task("multiclass", ("a",), "accuracy", ("x", "y", "z"))
    targets, outputs = RANDOM.integers(0, 3, 60), RANDOM.normal(size=(60, 3))
    found = scores(task, torch.from_numpy(outputs), torch.tensor(targets)[:, None].double())
    assert found["accuracy"] == pytest.approx(sklearn.accuracy_score(targets, outputs.argmax(1)))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_other_scores_of_classes_agree_with_sklearn(name, classes):
    kind = "binary" if classes == 2 else "multiclass"
    task = Task(kind, ("a",), name, tuple(range(classes)))
    targets = RANDOM.integers(0, classes, 90)
    outputs = RANDOM.normal(size=(90, classes if classes > 2 else 1))
    outputs += targets[:, None] if classes == 2 else np.eye(classes)[targets]
    told = outputs.argmax(1) if classes > 2 else (outputs[:, 0] > 0).astype(int)
    found = scores(task, torch.from_numpy(outputs), torch.tensor(targets)[:, None].double())[name]
    if name == "mcc":
        assert found == pytest.approx(sklearn.matthews_corrcoef(targets, told))
    else:
        average = "binary" if classes == 2 else "macro"
        assert found == pytest.approx(sklearn.f1_score(targets, told, average=average))


def test_scores_of_one_class_or_one_answer():
    ones, zeros = torch.ones(5, 1), torch.zeros(5, 1)
    task = Task("binary", ("a",), "mcc", (0, 1))
    mixed = torch.tensor([[0.0], [1], [1], [0], [1]])
    assert math.isnan(scores(task, ones, ones)["mcc"])
    assert scores(task, ones, mixed)["mcc"] == 0
    assert math.isnan(scores(replace(task, metric="f1"), -ones, zeros)["f1"])
    assert scores(replace(task, metric="f1"), -ones, mixed)["f1"] == 0


def test_missing_values_are_left_out():
    task = Task("regression", ("a", "b"), "mae")
    outputs = torch.tensor([[1.0, 0], [2, 0], [3, 0]])
    targets = torch.tensor([[2.0, NAN], [NAN, NAN], [5.0, NAN]])
    assert scores(task, outputs, targets)["mae"] == pytest.approx(1.5)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_the_curve_of_a_single_class_is_undefined_and_said_so(label, caplog):
    task = Task("binary", ("active",), "rocauc", (0, 1))
    with caplog.at_level(logging.WARNING):
        found = scores(task, torch.randn(6, 1), torch.full((6, 1), label))
    assert math.isnan(found["rocauc"])
    assert "rocauc of target active is undefined: only one class" in caplog.text


def test_only_errors_are_better_when_lower():
    assert [higher_is_better(name) for name in ("mae", "rmse", "accuracy", "rocauc")] == [
        False, False, True, True,
    ]  # fmt: skip
