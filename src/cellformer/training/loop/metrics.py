"""Scores of predictions, by torchmetrics, over the targets that are present."""

import logging
import math

import torch
from jaxtyping import Float
from torch import Tensor
from torchmetrics.functional import mean_absolute_error, mean_squared_error
from torchmetrics.functional.classification import (
    binary_accuracy,
    binary_auroc,
    binary_average_precision,
    multiclass_accuracy,
)

from cellformer.data.dataset import Kind, Task

logger = logging.getLogger(__name__)

METRICS: dict[Kind, tuple[str, ...]] = {
    "regression": ("mae", "rmse"),
    "binary": ("rocauc", "average_precision", "accuracy"),
    "multiclass": ("accuracy",),
}


def higher_is_better(metric: str) -> bool:
    """Whether a larger value of the metric is the better one."""
    return metric not in ("mae", "rmse")


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
    for name in METRICS[task.kind]:
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
        for name in METRICS[task.kind]:
            value = _score(name, task, given, known) if len(known) else math.nan
            told[target][name] = value
            if math.isnan(value):
                logger.warning(
                    "%s of target %s is undefined: %s",
                    name,
                    target,
                    "only one class is present" if len(known) else "no value is present",
                )
    return told


def _score(
    name: str, task: Task, outputs: Float[Tensor, "row ..."], targets: Float[Tensor, " row"]
) -> float:
    if name == "mae":
        return float(mean_absolute_error(outputs.double(), targets.double()))
    if name == "rmse":
        return float(mean_squared_error(outputs.double(), targets.double(), squared=False))
    classes = targets.long()
    if task.kind == "multiclass":
        return float(multiclass_accuracy(outputs, classes, outputs.shape[1], average="micro"))
    if name == "accuracy":
        return float(binary_accuracy(outputs.sigmoid(), classes))
    if bool((classes == classes[0]).all()):  # torchmetrics would answer 0
        return math.nan
    area = binary_auroc if name == "rocauc" else binary_average_precision
    # The areas depend on the order alone, which a sigmoid would lose for large logits.
    order = torch.unique(outputs, return_inverse=True)[1]
    return float(area(order.double() / len(order), classes))
