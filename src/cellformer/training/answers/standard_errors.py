"""How far a score is uncertain because the rows that it was measured on are few."""

import math

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.stats import rankdata

from cellformer.data.dataset import Task


def standard_error(
    task: Task,
    outputs: Float[np.ndarray, "row output"],
    targets: Float[np.ndarray, "row target"],
) -> float:
    """The standard error of the task's metric over its rows, as if these were drawn at random.

    Of an accuracy it is that of a binomial; of the mean absolute error, that of a mean; of the root
    mean square, by the delta method; of the area under the ROC curve, DeLong's (Biometrics 44,
    1988). Of several targets, whose mean the score is, it is taken as if their errors went
    together, the largest that it can be. NaN where the score itself is undefined, and for all other
    metrics, such as R2, or one of your own.
    """
    found = []
    for column in range(targets.shape[1]):
        present = ~np.isnan(targets[:, column])
        truth = targets[present, column].astype(np.float64)
        given = outputs[present] if task.kind == "multiclass" else outputs[present, column]
        if len(truth):
            found.append(_of(task, given.astype(np.float64), truth))
    defined = [error for error in found if not math.isnan(error)]
    return sum(defined) / len(defined) if defined else math.nan


def _of(task: Task, given: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    if task.metric == "rocauc":
        return _delong(given, truth)
    if task.metric == "accuracy":
        chosen = given.argmax(axis=1) if task.kind == "multiclass" else given > 0
        share = float(np.mean(chosen == truth))
        return math.sqrt(share * (1 - share) / len(truth))
    if task.metric == "mae":
        return _of_mean(np.abs(given - truth))
    if task.metric == "rmse":
        squares = (given - truth) ** 2
        root = math.sqrt(squares.mean())
        return _of_mean(squares) / (2 * root) if root else 0.0
    return math.nan


def _of_mean(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def _delong(given: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    positive, negative = given[truth == 1], given[truth == 0]
    if min(len(positive), len(negative)) < 2:
        return math.nan
    together = rankdata(np.concatenate([positive, negative]))
    # For every positive, the share of negatives below it; for every negative, of positives above.
    below = (together[: len(positive)] - rankdata(positive)) / len(negative)
    above = 1 - (together[len(positive) :] - rankdata(negative)) / len(positive)
    parts = ((share.var(ddof=1), len(share)) for share in (below, above))
    return math.sqrt(sum(float(spread) / count for spread, count in parts))
