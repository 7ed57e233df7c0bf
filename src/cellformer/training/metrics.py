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

from cellformer.data.dataset import Task

logger = logging.getLogger(__name__)


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
    names = {
        "regression": ("mae", "rmse"),
        "binary": ("rocauc", "average_precision", "accuracy"),
        "multiclass": ("accuracy",),
    }[task.kind]
    totals: dict[str, list[float]] = {name: [] for name in names}
    for column in range(targets.shape[1]):
        present = ~torch.isnan(targets[:, column])
        outputs = predictions if task.kind == "multiclass" else predictions[:, column]
        known, given = targets[present, column], outputs[present]
        for name in names:
            value = _score(name, task, given, known) if len(known) else math.nan
            if math.isnan(value):
                logger.warning(
                    "%s of target %s is undefined: %s",
                    name,
                    task.targets[column],
                    "only one class is present" if len(known) else "no value is present",
                )
            else:
                totals[name].append(value)
    return {name: sum(v) / len(v) if v else math.nan for name, v in totals.items()}


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
