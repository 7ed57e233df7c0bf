"""The losses of the paper, over the targets that are present."""

from collections.abc import Callable
from functools import cache, partial
from typing import Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from cellformer.data.dataset import Task
from cellformer.training.catalogs import LOSSES

Targets: TypeAlias = NDArray[np.floating]  # (rows, targets), class numbers, NaN if missing
Each: TypeAlias = Float[Tensor, "row target"]
Loss: TypeAlias = Callable[[Float[Tensor, "row output"], Each], Each]


def loss_of(
    task: Task,
    loss: str,
    outputs: Float[Tensor, "row output"],
    targets: Float[Tensor, "row target"],
    class_weights: Float[Tensor, "target class"] | None = None,
) -> Float[Tensor, ""]:
    """The mean loss over all present targets of a batch; NaN marks a missing one.

    A batch without any target has loss 0 and zero gradients. See `total_loss`.
    """
    total, present = total_loss(task, loss, outputs, targets, class_weights)
    return total / present.clamp(min=1)


def total_loss(
    task: Task,
    loss: str,
    outputs: Float[Tensor, "row output"],
    targets: Float[Tensor, "row target"],
    class_weights: Float[Tensor, "target class"] | None = None,
    bounds: Float[Tensor, "row side"] | None = None,
) -> tuple[Float[Tensor, ""], Int64[Tensor, ""]]:
    """The sum of the losses over all present targets and bounds of a batch, and their number.

    See `each_loss` and `bounded_loss`.
    """
    each, present = each_loss(task, loss, outputs, targets, class_weights)
    total, number = each.sum(), present.sum()
    if bounds is not None:
        for above, own in zip((True, False), bounds.tensor_split(2, 1), strict=True):
            each, present = bounded_loss(task, loss, outputs, own, above)
            total, number = total + each.sum(), number + present.sum()
    return total, number


def bounded_loss(
    task: Task,
    loss: str,
    outputs: Float[Tensor, "row output"],
    bounds: Float[Tensor, "row target"],
    above: bool,
) -> tuple[Each, Bool[Tensor, "row target"]]:
    """The loss of targets of which only a bound is known, which the truth is ``above`` or below.

    That of a prediction on the wrong side is as if the bound were the truth, and on the right side
    that of an exact one, unless the loss knows better: see `Gaussian.bounded`.
    """
    present = ~torch.isnan(bounds)
    known = torch.where(present, bounds, 0).to(outputs.dtype)
    function = loss_function(task, loss)
    if hasattr(function, "bounded"):
        each = function.bounded(outputs, known, above)
    else:
        every = known.repeat(1, outputs.shape[1] // known.shape[1])
        kept = torch.minimum(outputs, every) if above else torch.maximum(outputs, every)
        each = function(kept, known)
    return torch.where(present, each, 0), present


def each_loss(
    task: Task,
    loss: str,
    outputs: Float[Tensor, "row output"],
    targets: Float[Tensor, "row target"],
    class_weights: Float[Tensor, "target class"] | None = None,
) -> tuple[Each, Bool[Tensor, "row target"]]:
    """The loss of each target of a batch, 0 where it is missing, and where it is present.

    A value's part is multiplied by its class's entry in ``class_weights``, if given. See
    `loss_function` for ``loss``.
    """
    present = ~torch.isnan(targets)
    known = torch.where(present, targets, 0).to(outputs.dtype)
    each = loss_function(task, loss)(outputs, known)
    if class_weights is not None:
        rows = class_weights.to(each).expand(len(known), -1, -1)  # row target class
        each = each * rows.gather(2, known.long()[:, :, None])[:, :, 0]
    return torch.where(present, each, 0), present


@cache
def loss_function(task: Task, name: str) -> Loss:
    """The loss of a name, or with "auto" the paper's for this kind of task.

    L1 for regression (MSE where the metric is the RMSE or R2), cross-entropy for classes, binary
    where there are two (the paper, "Training details"). Raises ValueError for a listed loss of
    another kind of task, and as `Catalog.make` does.
    """
    if name == "auto":
        if task.kind != "regression":
            return partial(cross_entropy, binary=task.kind == "binary")
        return mse if task.metric in ("rmse", "r2") else l1
    listed = LOSSES.check(name).module is None
    if listed and (name == "cross_entropy") != (task.kind != "regression"):
        raise ValueError(
            f"training.loss={name} is of no use to a {task.kind} task; leave it at auto"
        )
    if name == "cross_entropy":
        return loss_function(task, "auto")
    found: Loss = LOSSES.make(name)
    return found


def l1(outputs: Each, targets: Each) -> Each:
    """Absolute errors."""
    return functional.l1_loss(outputs, targets, reduction="none")


def mse(outputs: Each, targets: Each) -> Each:
    """Squared errors."""
    return functional.mse_loss(outputs, targets, reduction="none")


def huber(outputs: Each, targets: Each) -> Each:
    """Half the squared error up to 1 (deviation of the targets), beyond it linear."""
    return functional.huber_loss(outputs, targets, reduction="none")


def cross_entropy(
    outputs: Float[Tensor, "row output"], targets: Each, binary: bool = False
) -> Each:
    """Of class numbers under logits: of all classes, or, if ``binary``, of class 1."""
    if binary:
        return functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")
    return functional.cross_entropy(outputs, targets[:, 0].long(), reduction="none")[:, None]


def class_weights_of(
    task: Task, chosen: Literal["equal", "balanced"] | tuple[float, ...], targets: Targets
) -> Float[Tensor, "target class"] | None:
    """The weight of each class of each target; None where all weigh the same.

    "balanced" gives class c the weight n / (k n_c), for n_c of n training values and k classes, so
    that all classes weigh the same in sum and a value weighs 1 on average; a class that does not
    occur has weight 0. Numbers given are scaled to an average of 1 too. Raises ValueError for a
    regression, and unless there is one number per class.
    """
    if chosen == "equal":
        return None
    classes = len(task.labels)
    if not classes:
        raise ValueError(
            "training.class_weights go with classes, and this task is a regression; leave them out"
        )
    if chosen != "balanced" and len(chosen) != classes:
        raise ValueError(
            f"training.class_weights has {len(chosen)} numbers for {classes} classes "
            f"({', '.join(map(str, task.labels))})"
        )
    rows = []
    for column in np.asarray(targets).T:
        counts = np.bincount(column[~np.isnan(column)].astype(int), minlength=classes)
        weights = (
            np.where(counts > 0, 1 / np.maximum(counts, 1), 0)
            if chosen == "balanced"
            else np.asarray(chosen, float)
        )
        total = weights @ counts
        rows.append(weights * counts.sum() / total if total else np.ones(classes))
    return torch.tensor(np.stack(rows), dtype=torch.float32)
