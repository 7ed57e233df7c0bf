"""How much of a prediction comes from a complex's descriptors, and how much from its cells."""

import logging
from copy import deepcopy

import numpy as np
import torch
from jaxtyping import Int64

from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.loading.loader import batches
from cellformer.model.described import CellModel, DescribedTransformer, kernels_of
from cellformer.model.descriptors.kernel_head import KernelHead
from cellformer.training.answers.kernel_fit import fit_kernel
from cellformer.training.loop.module import CellularModule
from cellformer.training.loop.share import best_share
from cellformer.training.materials.materials import Materials
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.weights import load_weights, save_weights

logger = logging.getLogger(__name__)


def fitted_kernels(
    module: CellularModule, model: CellModel, materials: Materials
) -> KernelHead | None:
    """The regression by kernels that a model gets when training has ended; None where it has none.

    The model's own stays as it is, so that its cells learn and validate alone.
    """
    own = kernels_of(model)
    if own is None:
        return None
    head = deepcopy(own)
    fit_kernel(module, head, materials)
    return head


def settle_descriptors(
    folder: RunFolder,
    module: CellularModule,
    model: CellModel,
    materials: Materials,
    fitted: KernelHead | None,
) -> None:
    """Writes what was fitted, and the best share, into the weights of a run.

    ``model`` is that of the module, and is left with the last weights. Nothing happens to one
    that reads no counts.
    """
    if not isinstance(model, DescribedTransformer) or model.counts is None:
        return
    kernels = kernels_of(model)
    for which in ("best", "last"):
        path = folder.weights(which)
        if path.exists():  # no epoch may have been the best one
            load_weights(path, model)
            if kernels is not None and fitted is not None:
                kernels.keep(fitted.references())
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

    It does not depend on the share of before; see `best_share`. Raises ValueError for a model that
    reads no counts.
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
    share = best_share(
        module.task, module.loss, from_cells, from_counts, targets, module.class_weights,
        of_kernels=kernels_of(model) is not None,
    )  # fmt: skip
    model.counts.get_buffer("share").fill_(share)
    return share
