"""The regression by kernels that stands beside a transformer, fitted to the training part."""

import logging

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.data.dataset import Task
from cellformer.model.kernel_head import KernelHead
from cellformer.model.kernel_regression import best_ridge, regression
from cellformer.model.kernels import near_values, shared_counts
from cellformer.training.loop.loss import loss_of
from cellformer.training.loop.module import CellularModule
from cellformer.training.materials.materials import Materials

logger = logging.getLogger(__name__)

MOST_REFERENCES = 4096
"""The time grows with the cube of their number, half a minute for so many."""
MOST_COMPARED = 1000
"""The number by which weight and ridge are chosen."""
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the values, beside the counts."""


@torch.no_grad()
def fit_kernel(module: CellularModule, head: KernelHead, materials: Materials) -> None:
    """Gives a head its references: the training complexes, or 4,096 of them by the run's seed.

    The weight of the values and the ridge are those with the least square error of training
    complexes that are left out, so that nothing is learned from the validation part. Classes are
    regressed as numbers, and the regression of complexes that are left out is turned into logits.
    """
    complexes, chosen = materials.complexes, materials.split["train"]
    if len(chosen) > MOST_REFERENCES:
        order = np.random.default_rng(module.seed).permutation(chosen)
        chosen = np.sort(order[:MOST_REFERENCES])
    assert complexes.descriptors is not None
    given = torch.from_numpy(complexes.descriptors.take(chosen).joined())
    targets = module.scaling.scale(torch.from_numpy(complexes.targets_of(chosen)))
    regressed = _as_numbers(module.task, targets).double()
    counts = shared_counts(*[given[:, : head.shape.counts].to(torch.uint8)] * 2).double()
    values = head.known(given)
    near = near_values(values, values).double()
    compared = np.random.default_rng(module.seed).permutation(len(chosen))[:MOST_COMPARED]
    some = np.ix_(compared, compared)
    found = {
        weight: best_ridge(torch.lerp(counts[some], near[some], weight), regressed[compared])
        for weight in (WEIGHTS if values.shape[1] else WEIGHTS[:1])
    }
    weight = min(found, key=lambda each: found[each][1])
    fitted = regression(torch.lerp(counts, near, weight), regressed, found[weight][0])
    slope, offset = 1.0, fitted.offset
    if module.task.kind != "regression":
        slope, offset = _as_logits(module, fitted.left_out, fitted.offset, targets)
    head.take(given, fitted.coefficients, offset, weight, slope)
    logger.info(
        "kernels over %d training complexes: values weigh %.2f beside counts, ridge %g",
        len(chosen),
        weight,
        found[weight][0],
    )


def _as_numbers(task: Task, targets: Float[Tensor, "row target"]) -> Float[Tensor, "row output"]:
    """What is regressed: values as they are; of classes, 1 for that of the row and else -1."""
    if task.kind == "regression":
        return targets
    if task.kind == "binary":
        return 2 * targets - 1
    classes = torch.arange(task.outputs, dtype=targets.dtype)
    told = 2 * (targets == classes).to(targets.dtype) - 1
    return torch.where(targets.isnan(), torch.nan, told)


@torch.enable_grad()
def _as_logits(
    module: CellularModule,
    left_out: Float[Tensor, "row output"],
    mean: Float[Tensor, " output"],
    targets: Float[Tensor, "row target"],
) -> tuple[float, Float[Tensor, " output"]]:
    """The multiple of a regression, and what is added, with the least loss on rows left out.

    Source: Platt, "Probabilistic outputs for support vector machines" (1999).
    """
    known = torch.where(left_out.isnan(), 0.0, left_out - mean)
    slope = torch.ones((), dtype=torch.float64, requires_grad=True)
    offset = mean.clone().requires_grad_()
    search = torch.optim.LBFGS([slope, offset], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        logits = slope * known + offset
        value = loss_of(module.task, "auto", logits, targets, module.class_weights)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    search.step(loss)  # type: ignore[no-untyped-call]
    return float(slope.detach()), offset.detach()
