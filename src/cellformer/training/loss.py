"""The losses of the paper, over the targets that are present."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from cellformer.data.dataset import Task

LossName = Literal["auto", "l1", "mse", "huber"]


def loss_of(
    task: Task,
    loss: LossName,
    outputs: Float[Tensor, "row output"],
    targets: Float[Tensor, "row target"],
) -> Float[Tensor, ""]:
    """The mean loss over all present targets of a batch; NaN marks a missing one.

    L1 for regression unless chosen otherwise, binary cross-entropy with logits, cross-entropy
    (the paper, "Training details"). A batch without any target has loss 0 and zero gradients.
    """
    present = ~torch.isnan(targets)
    known = torch.where(present, targets, 0).to(outputs.dtype)
    if task.kind == "multiclass":
        each = functional.cross_entropy(outputs, known[:, 0].long(), reduction="none")[:, None]
    elif task.kind == "binary":
        each = functional.binary_cross_entropy_with_logits(outputs, known, reduction="none")
    elif loss == "mse":
        each = functional.mse_loss(outputs, known, reduction="none")
    elif loss == "huber":
        each = functional.huber_loss(outputs, known, reduction="none")
    else:
        each = functional.l1_loss(outputs, known, reduction="none")
    return _masked_mean(each, present)


def _masked_mean(
    values: Float[Tensor, "row target"], present: Bool[Tensor, "row target"]
) -> Float[Tensor, ""]:
    return torch.where(present, values, 0).sum() / present.sum().clamp(min=1)
