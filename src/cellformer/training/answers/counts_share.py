"""How much of a prediction comes from a complex's counts, and how much from its cells."""

import logging

import numpy as np
import torch
from jaxtyping import Int64

from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.loading.loader import batches
from cellformer.model.described import CellModel, DescribedTransformer
from cellformer.training.loop.loss import loss_of
from cellformer.training.loop.module import CellularModule
from cellformer.training.materials.materials import Materials
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.weights import load_weights, save_weights

logger = logging.getLogger(__name__)

STEPS = 20
"""The share is a multiple of one part of so many."""


def balance_weights(
    folder: RunFolder, module: CellularModule, model: CellModel, materials: Materials
) -> None:
    """Writes the best share into the weights that a run has kept, for each of them.

    ``model`` is that of the module, and is left with the last weights. Nothing happens to one
    that reads no counts.
    """
    if not isinstance(model, DescribedTransformer) or model.counts is None:
        return
    for which in ("best", "last"):
        path = folder.weights(which)
        if path.exists():  # no epoch may have been the best one
            load_weights(path, model)
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

    It does not depend on the share of before. Of equal ones the smallest is taken. Raises
    ValueError for a model that reads no counts.
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
    losses = [
        loss_of(
            module.task,
            module.loss,
            torch.lerp(from_cells, from_counts, step / STEPS).float(),
            targets,
            module.class_weights,
        )
        for step in range(STEPS + 1)
    ]
    share = int(torch.stack(losses).argmin()) / STEPS
    model.counts.get_buffer("share").fill_(share)
    return share
