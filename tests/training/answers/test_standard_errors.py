import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.data.dataset import Task
from cellformer.training.answers.standard_errors import standard_error
from cellformer.training.loop.metrics import scores

MAE = Task("regression", ("y",), "mae")
RMSE = Task("regression", ("y",), "rmse")
AREA = Task("binary", ("y",), "rocauc", (0, 1))
HITS = Task("binary", ("y",), "accuracy", (0, 1))
CLASSES = Task("multiclass", ("y",), "accuracy", (0, 1, 2))


def drawn(task, rows, seed=0):
    """Answers that are right now and then; some of them tie."""
    random = np.random.default_rng(seed)
    if task.kind == "regression":
        truth = random.normal(size=(rows, 1))
        return truth + random.standard_t(5, size=(rows, 1)), truth
    truth = random.integers(0, len(task.labels), (rows, 1))
    answers = random.normal(size=(rows, task.outputs))
    if task.kind == "binary":
        answers = answers + truth
    else:
        answers[np.arange(rows), truth[:, 0]] += 1
    return np.round(answers, 1), truth.astype(float)


@pytest.mark.parametrize("task", [MAE, RMSE, AREA, HITS, CLASSES])
def test_it_is_the_spread_of_the_score_over_rows_drawn_again(task):
    outputs, truth = drawn(task, 400)
    random = np.random.default_rng(1)
    again = []
    for _ in range(300):
        rows = random.integers(0, len(truth), len(truth))
        given_rows, known = torch.from_numpy(outputs[rows]), torch.from_numpy(truth[rows])
        again.append(scores(task, given_rows, known)[task.metric])
    assert standard_error(task, outputs, truth) == pytest.approx(np.std(again), rel=0.2)


@pytest.mark.parametrize(
    ("task", "metric"), [(MAE, "r2"), (MAE, "package:own"), (HITS, "mcc"), (AREA, "package:own")]
)
def test_that_of_another_metric_is_not_known(task, metric):
    assert math.isnan(standard_error(replace(task, metric=metric), *drawn(task, 40)))


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 60), st.integers(0, 60))
def test_an_accuracy_has_that_of_a_binomial(right, wrong):
    truth = np.ones((right + wrong, 1))
    outputs = np.r_[np.ones(right), -np.ones(wrong)][:, None]
    share, rows = right / (right + wrong), right + wrong
    assert standard_error(HITS, outputs, truth) == pytest.approx(
        math.sqrt(share * (1 - share) / rows)
    )


def test_the_area_agrees_with_its_definition_over_all_pairs():
    outputs, truth = drawn(AREA, 60, seed=3)
    positive, negative = outputs[truth == 1], outputs[truth == 0]
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    variance = wins.mean(1).var(ddof=1) / len(positive) + wins.mean(0).var(ddof=1) / len(negative)
    assert standard_error(AREA, outputs, truth) == pytest.approx(math.sqrt(variance))


def test_blank_rows_do_not_count_and_several_targets_are_averaged():
    outputs, truth = drawn(MAE, 50)
    alone = standard_error(MAE, outputs, truth)
    blank = np.vstack([truth, [[np.nan]]])
    assert standard_error(MAE, np.vstack([outputs, [[9.0]]]), blank) == alone
    two = Task("regression", ("y", "z"), "mae")
    both = np.hstack([outputs, 3 * outputs]), np.hstack([truth, 3 * truth])
    assert standard_error(two, *both) == pytest.approx(2 * alone)


@pytest.mark.parametrize(
    ("task", "truth"), [(AREA, [[1.0], [1.0]]), (MAE, [[1.0]]), (MAE, [[np.nan]])]
)
def test_it_is_not_a_number_where_nothing_can_be_said(task, truth):
    assert math.isnan(standard_error(task, np.zeros((len(truth), 1)), np.array(truth)))
