"""The regression by kernels that stands beside a transformer, fitted to the training part."""

import logging

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.chemistry.fingerprints import COLUMNS, FINGERPRINTS
from cellformer.chemistry.physical import GROUPS
from cellformer.data.dataset import Task
from cellformer.model.config import DescriptorShape
from cellformer.model.descriptors.kernel_head import KernelHead
from cellformer.model.descriptors.kernel_likelihood import likely_kernel
from cellformer.model.descriptors.kernel_regression import regression
from cellformer.model.descriptors.kernels import shared_counts
from cellformer.training.loop.loss import loss_of
from cellformer.training.loop.module import CellularModule
from cellformer.training.materials.materials import Materials

logger = logging.getLogger(__name__)

MOST_REFERENCES = 4096
"""The time grows with the cube of their number, half a minute for so many."""
MOST_COMPARED = 600
"""The number by which weights and ridge are chosen."""


@torch.no_grad()
def fit_kernel(module: CellularModule, head: KernelHead, materials: Materials) -> None:
    """Gives a head its references: the training complexes, or 4,096 of them by the run's seed.

    Weights and ridge are those that make the targets of training complexes most likely
    (`likely_kernel`), so that nothing is learned from the validation part. Classes are regressed as
    numbers, and the regression of complexes that are left out is turned into logits.
    """
    complexes, chosen = materials.complexes, materials.split["train"]
    if len(chosen) > MOST_REFERENCES:
        order = np.random.default_rng(module.seed).permutation(chosen)
        chosen = np.sort(order[:MOST_REFERENCES])
    assert complexes.descriptors is not None
    given = torch.from_numpy(complexes.descriptors.take(chosen).joined())
    targets = module.scaling.scale(torch.from_numpy(complexes.targets_of(chosen)))
    regressed = _as_numbers(module.task, targets).double()
    shared = shared_counts(*[given[:, : head.shape.counts].to(torch.uint8)] * 2)
    values = head.known(given)
    some = np.random.default_rng(module.seed).permutation(len(chosen))[:MOST_COMPARED]
    weights, ridge = likely_kernel(
        shared[:, some][:, :, some].double(),
        values[some].double(),
        _groups(head.shape),
        regressed[some],
    )
    kept = weights.to(torch.float32).to(torch.float64)  # as the head has them
    kernel = kept.alike(shared, values.double(), values.double())
    fitted = regression(kernel, regressed, ridge)
    slope, offset = 1.0, fitted.offset
    if module.task.kind != "regression":
        slope, offset = _as_logits(module, fitted.left_out, fitted.offset, targets)
    head.take(given, fitted.coefficients, offset, weights, slope, ridge, fitted.amplitudes)
    told = " ".join(f"{weight:.2f}" for weight in weights.weights.tolist())
    logger.info(
        "kernels over %d training complexes: weights of fingerprints%s %s, ridge %.2g",
        len(chosen),
        " and values" if values.shape[1] else "",
        told,
        ridge,
    )


def _groups(shape: DescriptorShape) -> list[int]:
    """The numbers of values that count equally: those of one kind, and each of the user's own."""
    estimated = GROUPS if shape.counts == FINGERPRINTS * COLUMNS else ()
    return [*estimated, *[1] * (len(shape.mean) - sum(estimated))]


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
