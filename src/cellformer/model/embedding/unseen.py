"""What no training complex has adds nothing to a prediction.

*Not in the paper.* A weight that no training complex reaches keeps its random start. Where a later
complex reaches it, that would be noise, often larger than what was learned.
"""

import numpy as np
import torch
from jaxtyping import Int64
from torch import nn

from cellformer.complexes.many.ragged import RaggedComplexes, ranges, stretches
from cellformer.model.descriptors.descriptors import CountHead
from cellformer.model.embedding.embedding import FeatureEmbedding


def silence_unseen(
    model: nn.Module, complexes: RaggedComplexes, chosen: Int64[np.ndarray, " chosen"]
) -> None:
    """Sets to zero the weights of categories and counts that these complexes do not have.

    Choose the complexes to train on, before training: what has no gradient stays zero.
    """
    for name, module in model.named_modules():
        if isinstance(module, FeatureEmbedding):
            _silence_categories(module, int(name.rpartition(".")[2]), complexes, chosen)
        elif isinstance(module, CountHead) and complexes.descriptors is not None:
            counts = complexes.descriptors.counts
            seen = np.zeros(counts.shape[1], bool)
            for some in stretches(chosen):
                seen |= counts[some].any(axis=0)
            with torch.no_grad():
                module.hidden.weight[:, np.flatnonzero(~seen)] = 0


def _silence_categories(
    module: FeatureEmbedding,
    rank: int,
    complexes: RaggedComplexes,
    chosen: Int64[np.ndarray, " chosen"],
) -> None:
    if module.table is None:
        return
    cells = complexes.ranks[rank]
    seen = np.zeros(len(module.table.weight), bool)
    for some in stretches(chosen):
        rows, _ = ranges(cells.offsets[some], cells.offsets[some + 1])
        categories = torch.from_numpy(np.asarray(cells.discrete[rows], np.int64))
        seen[module.rows_of(categories).numpy()] = True
    with torch.no_grad():
        module.table.weight[np.flatnonzero(~seen)] = 0
