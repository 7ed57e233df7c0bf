from dataclasses import replace

import numpy as np
import pytest

from cellformer.data.dataset import Task
from cellformer.training.answers.summary import (
    class_counts,
    constant_outputs,
    describe,
    describe_classes,
)
from grids import summary_of


def test_a_score_that_does_not_exist_is_called_undefined():
    summary = replace(
        summary_of("molhiv", 0.5),
        best_epoch=None,
        epochs=3,
        scores={"last": {"val": {"rocauc": None}, "test": {"rocauc": 1.0}}},
        baseline={"val": {"rocauc": None}, "test": {"rocauc": 0.5}},
    )
    assert describe(summary) == (
        "last epoch (3): val rocauc undefined, test rocauc 1.0000\n"
        "the same answer for all rows: test rocauc 0.5000"
    )


def test_the_rarest_class_of_each_target_is_counted_in_every_part():
    task = Task("binary", ("toxic", "active"), "rocauc", labels=("no", "yes"))
    targets = np.array([[0, 1], [1, 1], [0, np.nan], [0, 0]], np.float32)
    classes = {"train": class_counts(task, targets), "test": class_counts(task, targets[:2])}
    assert classes["train"]["active"] == {"no": 1, "yes": 2}
    assert describe_classes(classes) == [
        "toxic is yes: train 1 of 4, test 1 of 2",
        "active is no: train 1 of 3, test 0 of 2",
    ]
    assert describe_classes({}) == []


@pytest.mark.parametrize(("metric", "best"), [("mae", 1.0), ("rmse", 4.0)])
def test_no_other_answer_for_all_rows_does_better(metric, best):
    values = np.array([[0], [1], [11], [np.nan]], np.float32)
    answers = constant_outputs(Task("regression", ("y",), metric), values, 2)
    assert answers.tolist() == [[best], [best]]
    flows = Task("regression", ("y",), metric, rank=1, flips=True)
    assert constant_outputs(flows, values, 2).tolist() == [[0], [0]]
