"""Scores of predictions, by torchmetrics, over the targets that are present."""

import logging
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from scipy.stats import rankdata
from torch import Tensor
from torchmetrics.functional import (
    mean_absolute_error,
    mean_squared_error,
    pearson_corrcoef,
    r2_score,
)
from torchmetrics.functional.classification import (
    binary_accuracy,
    binary_auroc,
    binary_average_precision,
    binary_f1_score,
    binary_matthews_corrcoef,
    multiclass_accuracy,
    multiclass_f1_score,
    multiclass_matthews_corrcoef,
)

from cellformer.data.dataset import Kind, Task
from cellformer.training.catalogs import METRICS

logger = logging.getLogger(__name__)

MetricFunction: TypeAlias = Callable[[Tensor, Tensor], Any]

OF_KIND: dict[Kind, tuple[str, ...]] = {
    "regression": ("mae", "rmse", "r2", "spearman"),
    "binary": ("rocauc", "average_precision", "accuracy"),
    "multiclass": ("accuracy",),
}
"""What is told of a task of each kind, beside the metric that was chosen."""
OFTEN_UNDEFINED = ("r2", "spearman")
"""Of equal answers or values, as those of one row are; said only where one was chosen."""


def metrics_of(task: Task) -> tuple[str, ...]:
    """The names of all metrics of a task."""
    return tuple(dict.fromkeys((*OF_KIND[task.kind], task.metric)))


@cache
def higher_is_better(metric: str) -> bool:
    """Whether a larger value of the metric is the better one.

    Raises as `Catalog.make` does for one of your own.
    """
    return bool(getattr(_plain(METRICS.make(metric)), "higher_is_better", False))


def scores(
    task: Task,
    predictions: Float[Tensor, "row output"],
    targets: Float[Tensor, "row target"],
) -> dict[str, float]:
    """All metrics of the task, each averaged over those targets for which it is defined.

    ``predictions`` are values in the user's units, logits of the positive class, or logits of all
    classes. A metric that is defined for no target (no value present; one class only, for the
    area under the ROC curve) is NaN, with a warning in the log.
    """
    apart = scores_by_target(task, predictions, targets)
    means = {}
    for name in metrics_of(task):
        defined = [v for each in apart.values() if not math.isnan(v := each[name])]
        means[name] = sum(defined) / len(defined) if defined else math.nan
    return means


def scores_by_target(
    task: Task,
    predictions: Float[Tensor, "complex output"],
    targets: Float[Tensor, "complex target"],
) -> dict[str, dict[str, float]]:
    """The metrics of each target by its name; NaN, with a warning, where one is undefined."""
    told: dict[str, dict[str, float]] = {}
    for column, target in enumerate(task.targets):
        present = ~torch.isnan(targets[:, column])
        outputs = predictions if task.kind == "multiclass" else predictions[:, column]
        known, given = targets[present, column], outputs[present]
        told[target] = {}
        for name in metrics_of(task):
            value = _score(name, task, given, known) if len(known) else math.nan
            told[target][name] = value
            if math.isnan(value) and (name not in OFTEN_UNDEFINED or name == task.metric):
                if not len(known):
                    reason = "no value is present"
                elif task.kind == "regression":
                    reason = "all values, or all answers, are equal"
                else:
                    reason = "only one class is present"
                logger.warning("%s of target %s is undefined: %s", name, target, reason)
    return told


def _score(
    name: str, task: Task, outputs: Float[Tensor, "row ..."], targets: Float[Tensor, " row"]
) -> float:
    metric: MetricFunction = METRICS.make(name)
    value = metric(outputs, targets)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"the metric {name} gave {value!r}, which is no number") from None


def mae(outputs: Float[Tensor, " row"], targets: Float[Tensor, " row"]) -> float:
    """The mean absolute error."""
    return float(mean_absolute_error(outputs.double(), targets.double()))


def rmse(outputs: Float[Tensor, " row"], targets: Float[Tensor, " row"]) -> float:
    """The root mean square error."""
    return float(mean_squared_error(outputs.double(), targets.double(), squared=False))


def r2(outputs: Float[Tensor, " row"], targets: Float[Tensor, " row"]) -> float:
    """The share of the variance that is explained; NaN where all targets are equal."""
    if not _varies(targets):
        return math.nan
    mean = targets.double().mean()  # else the squares of large values would lose their digits
    return float(r2_score(outputs.double() - mean, targets.double() - mean))


def spearman(outputs: Float[Tensor, " row"], targets: Float[Tensor, " row"]) -> float:
    """The correlation of ranks; NaN where all targets or all outputs are equal.

    Those of torchmetrics take a pass for every value that is there twice.
    """
    if not (_varies(targets) and _varies(outputs)):
        return math.nan
    ranks = (torch.from_numpy(rankdata(each.cpu().numpy())) for each in (outputs, targets))
    return float(pearson_corrcoef(*ranks))


def _varies(values: Float[Tensor, " row"]) -> bool:
    return len(values) > 1 and bool((values != values[0]).any())


def accuracy(outputs: Float[Tensor, "row ..."], targets: Float[Tensor, " row"]) -> float:
    """The share of right answers, for logits of all classes or of class 1."""
    classes = targets.long()
    if outputs.ndim == 2:
        return float(multiclass_accuracy(outputs, classes, outputs.shape[1], average="micro"))
    return float(binary_accuracy(outputs.sigmoid(), classes))


def rocauc(outputs: Float[Tensor, " row"], targets: Float[Tensor, " row"]) -> float:
    """The area under the ROC curve; NaN where there is one class only."""
    return _area(binary_auroc, outputs, targets)


def average_precision(outputs: Float[Tensor, " row"], targets: Float[Tensor, " row"]) -> float:
    """The area under the curve of precision and recall; NaN where there is one class only."""
    return _area(binary_average_precision, outputs, targets)


def f1(outputs: Float[Tensor, "row ..."], targets: Float[Tensor, " row"]) -> float:
    """The harmonic mean of precision and recall of class 1, or the mean of that of all classes.

    Of two classes NaN where class 1 is neither there nor predicted.
    """
    classes = targets.long()
    if outputs.ndim == 2:
        return float(multiclass_f1_score(outputs, classes, outputs.shape[1], average="macro"))
    told = (outputs > 0).long()
    return float(binary_f1_score(told, classes)) if bool((told | classes).any()) else math.nan


def mcc(outputs: Float[Tensor, "row ..."], targets: Float[Tensor, " row"]) -> float:
    """Matthews' correlation of answers and classes; NaN where there is one class only.

    0 for the same answer for all.
    """
    classes = targets.long()
    if bool((classes == classes[0]).all()):
        return math.nan
    told = outputs.argmax(1) if outputs.ndim == 2 else outputs > 0
    if bool((told == told[0]).all()):  # torchmetrics would not answer 0
        return 0.0
    if outputs.ndim == 2:
        return float(multiclass_matthews_corrcoef(told, classes, outputs.shape[1]))
    return float(binary_matthews_corrcoef(told.long(), classes))


for _better in (r2, spearman, accuracy, rocauc, average_precision, f1, mcc):
    _better.higher_is_better = True  # type: ignore[attr-defined]


def _area(
    area: Callable[[Tensor, Tensor], Tensor],
    outputs: Float[Tensor, " row"],
    targets: Float[Tensor, " row"],
) -> float:
    classes = targets.long()
    if bool((classes == classes[0]).all()):  # torchmetrics would answer 0
        return math.nan
    # The areas depend on the order alone, which a sigmoid would lose for large logits.
    order = torch.unique(outputs, return_inverse=True)[1]
    return float(area(order.double() / len(order), classes))


def _plain(found: Any) -> Any:
    """A function without the arguments that were given to it."""
    return found.func if isinstance(found, partial) else found
