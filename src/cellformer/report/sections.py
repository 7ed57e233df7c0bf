"""What a report says of predictions, by kind of task."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from scipy.integrate import trapezoid
from scipy.special import expit, softmax
from torchmetrics.functional.classification import binary_precision_recall_curve, binary_roc

from cellformer.data.dataset import Task
from cellformer.drawing.inline import inline_svg
from cellformer.report import charts
from cellformer.report.calibration import coverages, interval_half_width, reliability
from cellformer.report.cell_pictures import shares_of
from cellformer.report.doubts import doubts
from cellformer.report.outcome import ScoredPart
from cellformer.report.parts import MOST_CHARTED, Chart
from cellformer.training.answers.conformal import Residuals
from cellformer.training.answers.deviations import deviation_of, deviations_of

LEVEL = 0.9


@dataclass(frozen=True)
class Judged:
    """One row and target: what is true, what was predicted, and how wrong that is."""

    row: int
    target: str
    true: str
    predicted: str
    error: float
    cell: int | None = None  # its number within the row, where cells are predicted


def charts_of(task: Task, test: ScoredPart, calibration: ScoredPart | None) -> list[Chart]:
    """Predicted against true, or ROC, precision-recall and confusion; and calibration.

    Of the first `MOST_CHARTED` targets.
    """
    made: list[Chart] = []
    if task.kind == "multiclass":
        return _multiclass(task, test)
    errors, held_out = (
        None if part is None or task.kind != "regression"
        else Residuals.of(task, part.outputs, part.targets, "").errors
        for part in (test, calibration)
    )  # fmt: skip
    for column, target in enumerate(task.targets[:MOST_CHARTED]):
        known = np.isfinite(test.targets[:, column])
        true, output = test.targets[known, column], test.outputs[known, column]
        if not len(true):
            continue
        if errors is not None:
            own = np.zeros(0) if held_out is None else held_out[column]
            made += _regression(task, column, test, errors[column], own)
        else:
            made += _binary(task, target, true, output)
    return made


def uncharted(task: Task, written: bool) -> str:
    """Which targets `charts_of` leaves out; empty where it leaves out none.

    ``written`` says whether predictions.csv has them.
    """
    if len(task.targets) <= MOST_CHARTED:
        return ""
    told = f"Of {len(task.targets)} targets the first {MOST_CHARTED} are shown"
    return f"{told}; predictions.csv has all." if written else f"{told}."


def judged(task: Task, part: ScoredPart) -> list[Judged]:
    """Every row and target whose truth is known, the worst first.

    The error of a class is the probability that was not given to the true one.
    """
    found = []
    classes = range(0 if task.kind == "regression" else len(task.targets))
    shares = [shares_of(task, part.outputs, column) for column in classes]
    for number, row in enumerate(part.rows.tolist()):
        cell = None if part.cells is None else int(part.cells[number])
        for column, target in enumerate(task.targets):
            true = float(part.targets[number, column])
            if np.isnan(true):
                continue
            if task.kind == "regression":
                value = float(part.outputs[number, column])
                told, error = f"{value:.4g}", abs(value - true)
                found.append(Judged(row, target, f"{true:.4g}", told, error, cell))
                continue
            given = shares[column][number]
            best = int(given.argmax())
            told = f"{task.labels[best]} ({given[best]:.2f})"
            error = 1 - float(given[int(true)])
            found.append(Judged(row, target, f"{task.labels[int(true)]}", told, error, cell))
    return sorted(found, key=lambda one: (-one.error, one.row))


def _regression(
    task: Task,
    column: int,
    test: ScoredPart,
    errors: Float64[np.ndarray, " row"],
    held_out: Float64[np.ndarray, " other"],
) -> list[Chart]:
    known = np.isfinite(test.targets[:, column])
    true, outputs = test.targets[known, column], test.outputs[known]
    output, target = outputs[:, column], task.targets[column]
    width = interval_half_width(held_out, LEVEL)
    apart = deviations_of(task, outputs)
    reach = width if apart is None else width * np.stack([each[:, column] for each in apart])
    band = ""
    if np.isfinite(width):
        shown = f"The band is the prediction ± {width:.3g}"
        if apart is not None:
            shown = f"The bars are {width:.3g} times as long as the learned deviation of each value"
        band = (
            f"{shown}: {LEVEL:.0%} of new values should lie in it, judged by the validation errors."
        )
    figure = charts.predicted_against_true(true, output, reach)
    made = [
        Chart(
            f"Predicted against true: {target}",
            inline_svg(figure, f"{len(true)} dots, predicted against true {target}"),
            band,
            tuple(test.rows[known].tolist()),
        )
    ]
    if np.isfinite(width):
        covered = coverages(held_out, errors)
        told = f"{np.mean(errors <= width):.0%} of the test values lie in the {LEVEL:.0%} interval."
        svg = inline_svg(charts.interval_coverage(covered), f"Calibration of intervals. {told}")
        made.append(Chart(f"Calibration: {target}", svg, told))
    deviation = deviation_of(task, outputs)
    if deviation is not None:
        made += doubts(target, np.abs(output - true), deviation[:, column])
    return made


def _binary(
    task: Task,
    target: str,
    true: Float[np.ndarray, " row"],
    output: Float[np.ndarray, " row"],
) -> list[Chart]:
    probability = expit(output.astype(np.float64))
    positive = true > 0.5
    made = []
    share = float(positive.mean())
    if 0 < share < 1:
        # The curves depend on the order alone, which a sigmoid would lose for large logits.
        order = np.unique(output, return_inverse=True)[1] / len(output)
        scores, classes = torch.from_numpy(order), torch.from_numpy(positive.astype(np.int64))
        false_rate, true_rate, _ = (t.numpy() for t in binary_roc(scores, classes))
        precision, recall, _ = (t.numpy() for t in binary_precision_recall_curve(scores, classes))
        area = float(trapezoid(true_rate, false_rate))
        figure = charts.curve_chart(
            false_rate,
            true_rate,
            ("false positive rate", "true positive rate"),
            [(0.0, 0.0), (1.0, 1.0)],
        )
        made.append(Chart(f"ROC: {target}", inline_svg(figure, f"ROC curve, area {area:.3f}"),
                          f"Area under the curve {area:.3f}."))  # fmt: skip
        figure = charts.curve_chart(
            recall, precision, ("recall", "precision"), [(0.0, share), (1.0, share)]
        )
        made.append(Chart(f"Precision and recall: {target}",
                          inline_svg(figure, "Precision-recall curve"),
                          f"{share:.1%} of the rows are {task.labels[1]}."))  # fmt: skip
    counts = np.zeros((2, 2), np.int64)
    np.add.at(counts, (positive.astype(int), (probability >= 0.5).astype(int)), 1)
    matrix = charts.confusion_chart(counts, [str(label) for label in task.labels])
    made.append(Chart(f"Confusion: {target}", inline_svg(matrix, "Confusion matrix")))
    made.append(_reliability_chart(f"Calibration: {target}", probability, positive))
    return made


def _multiclass(task: Task, test: ScoredPart) -> list[Chart]:
    known = np.isfinite(test.targets[:, 0])
    if not known.any():
        return []
    true = test.targets[known, 0].astype(int)
    shares = softmax(test.outputs[known].astype(np.float64), axis=1)
    best = shares.argmax(axis=1)
    counts = np.zeros((task.outputs, task.outputs), np.int64)
    np.add.at(counts, (true, best), 1)
    labels = [str(label) for label in task.labels]
    (target,) = task.targets
    return [
        Chart(f"Confusion: {target}",
              inline_svg(charts.confusion_chart(counts, labels), "Confusion matrix")),
        _reliability_chart(f"Calibration: {target}", shares.max(axis=1), best == true),
    ]  # fmt: skip


def _reliability_chart(
    title: str, probability: Float64[np.ndarray, " row"], came_true: np.ndarray
) -> Chart:
    found = reliability(probability, came_true.astype(np.float64))
    told = f"Expected calibration error {found.expected_error:.3f}."
    return Chart(title, inline_svg(charts.reliability_chart(found), f"Reliability. {told}"), told)
