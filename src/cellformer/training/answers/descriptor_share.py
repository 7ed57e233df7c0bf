"""How much of a prediction comes from a complex's descriptors, and how much from its cells."""

import logging

import numpy as np
import torch
from jaxtyping import Int64

from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.loading.loader import batches
from cellformer.model.described import CellModel, DescribedTransformer, kernels_of
from cellformer.training.answers.kernel_fit import fit_kernel
from cellformer.training.loop.loss import each_loss
from cellformer.training.loop.module import CellularModule
from cellformer.training.materials.materials import Materials
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.weights import load_weights, save_weights

logger = logging.getLogger(__name__)

STEPS = 20
"""The share is a multiple of one part of so many."""


def settle_descriptors(
    folder: RunFolder, module: CellularModule, model: CellModel, materials: Materials
) -> None:
    """Fits what is fitted once, and writes it with the best share into the weights of a run.

    ``model`` is that of the module, and is left with the last weights. Nothing happens to one
    that reads no counts.
    """
    if not isinstance(model, DescribedTransformer) or model.counts is None:
        return
    kernels = kernels_of(model)
    fitted = {}
    if kernels is not None:
        fit_kernel(module, kernels, materials)
        fitted = kernels.references()
    for which in ("best", "last"):
        path = folder.weights(which)
        if path.exists():  # no epoch may have been the best one
            load_weights(path, model)
            if kernels is not None:
                kernels.keep(fitted)
            share = balance(module, model, materials.complexes, materials.split["val"])
            save_weights(path, model)
            logger.info("%s weights: the fingerprints have a share of %.2f", which, share)


@torch.no_grad()
def balance(
    module: CellularModule,
    model: DescribedTransformer,
    complexes: RaggedComplexes,
    validating: Int64[np.ndarray, " chosen"],
) -> float:
    """Sets, and returns, the share of the counts that has the least loss on validation complexes.

    It does not depend on the share of before. Of equal ones the smallest is taken; but of kernels,
    the largest whose loss is not above the least one by more than the standard error of their
    difference. The epoch of the cells was chosen on the same complexes, which flatters them, while
    the kernels have seen none of these. Source: the rule of one standard error (Breiman et al.,
    "Classification and Regression Trees", 1984). Raises ValueError for a model that reads no
    counts.
    """
    if model.counts is None:
        raise ValueError("this model reads no counts, so there is nothing to balance")
    device = next(model.parameters()).device
    model.eval()
    parts = []
    for batch in batches(complexes, validating, batch_size=256, shuffle=False):
        moved = batch.to(device)
        assert moved.targets is not None
        parts.append((*model.opinions(moved), module.scaling.scale(moved.targets)))
    from_cells, from_counts, targets = (torch.cat(part) for part in zip(*parts, strict=True))
    losses, known = [], targets
    for step in range(STEPS + 1):
        joint = torch.lerp(from_cells, from_counts, step / STEPS).float()
        each, known = each_loss(module.task, module.loss, joint, targets, module.class_weights)
        losses.append(each.sum(1))
    by_step = torch.stack(losses)[:, known.any(1)]  # step complex
    best = int(by_step.sum(1).argmin())
    if kernels_of(model) is not None:
        above = by_step - by_step[best]
        chance = above.std(1, correction=0) * above.shape[1] ** 0.5
        best = int((above.sum(1) <= chance).nonzero().max())
    share = best / STEPS
    model.counts.get_buffer("share").fill_(share)
    return share
