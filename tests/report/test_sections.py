import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from cellformer.data.dataset import Task
from cellformer.report.doubts import doubts
from cellformer.report.outcome import ScoredPart
from cellformer.report.parts import MOST_CHARTED
from cellformer.report.sections import charts_of, judged, uncharted

BINARY = Task("binary", ("<i>active</i>",), "rocauc", ("no", "yes"))
COLORS = Task("multiclass", ("color",), "accuracy", ("red", "green", "blue"))
PAIR = Task("regression", ("a", "b"), "mae")


def part(targets, outputs):
    targets = np.array(targets, np.float32)
    return ScoredPart(np.arange(len(targets)) + 10, targets, np.array(outputs, np.float32))


def test_a_binary_task_has_roc_precision_confusion_and_calibration():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 80).astype(float)
    logits = true + rng.normal(size=80)
    made = charts_of(BINARY, part(true[:, None], logits[:, None]), None)
    assert [chart.title.split(":")[0] for chart in made] == [
        "ROC", "Precision and recall", "Confusion", "Calibration",
    ]  # fmt: skip
    assert f"{roc_auc_score(true, logits):.3f}" in made[0].note


def test_one_class_alone_has_no_roc_and_no_value_no_chart():
    made = charts_of(BINARY, part([[1.0], [1.0]], [[0.3], [2.0]]), None)
    assert [chart.title.split(":")[0] for chart in made] == ["Confusion", "Calibration"]
    assert charts_of(BINARY, part([[np.nan]], [[1.0]]), None) == []
    assert charts_of(COLORS, part([[np.nan]], [[1.0, 2, 3]]), None) == []


def test_of_many_targets_the_first_have_charts():
    task = Task("regression", tuple(f"t{n}" for n in range(MOST_CHARTED + 3)), "mae")
    values = np.random.default_rng(0).normal(size=(5, MOST_CHARTED + 3))
    made = charts_of(task, part(values, values), None)
    assert [chart.title for chart in made] == [
        f"Predicted against true: t{n}" for n in range(MOST_CHARTED)
    ]
    assert f"Of {MOST_CHARTED + 3} targets the first {MOST_CHARTED}" in uncharted(
        task, written=True
    )
    assert uncharted(PAIR, written=True) == ""


def test_the_confusion_of_classes_counts_every_row():
    outputs = np.eye(3)[[0, 1, 1, 2]] * 5
    made = charts_of(COLORS, part([[0.0], [1], [2], [2]], outputs), None)
    assert made[0].title == "Confusion: color"
    for label in COLORS.labels:
        assert made[0].svg.count(f">{label}<") == 2


def test_missing_targets_are_left_out_and_the_worst_come_first():
    found = judged(PAIR, part([[1.0, np.nan], [2.0, 5.0]], [[1.5, 9.0], [2.1, 1.0]]))
    assert [(one.row, one.target) for one in found] == [(11, "b"), (10, "a"), (11, "a")]
    assert found[0].error == pytest.approx(4.0)
    made = charts_of(PAIR, part([[1.0, np.nan], [2.0, 5.0]], [[1.5, 9.0], [2.1, 1.0]]), None)
    assert [chart.rows for chart in made] == [(10, 11), (11,)]


def test_the_error_of_a_class_is_what_was_not_given_to_it():
    (one,) = judged(BINARY, part([[0.0]], [[np.log(3)]]))
    assert one.error == pytest.approx(0.75)
    assert one.true == "no"
    assert one.predicted == "yes (0.75)"
    (one,) = judged(COLORS, part([[2.0]], [[0.0, 0.0, np.log(2)]]))
    assert one.error == pytest.approx(0.5)


def test_rows_without_doubt_have_no_place_among_the_doubts():
    errors, apart = np.array([1.0, 2.0, 9.0]), np.array([1.0, 2.0, 1e-7])
    assert doubts("y", errors, np.zeros(3)) == doubts("y", errors[:0], apart[:0]) == []
    (chart,) = doubts("y", errors, apart, "spread")
    assert chart.title == "Uncertainty by the spread: y"
    assert chart.note.startswith("Errors are 1 times the spread.")
