"""Leaving out a layer for some of the complexes of a batch.

*Not in the paper*.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.complexes.batches.batch import CellBatch


def with_layer_left_out(
    before: Sequence[Float[Tensor, "_ width"]],
    after: Sequence[Float[Tensor, "_ width"]],
    batch: CellBatch,
    part: float,
) -> list[Float[Tensor, "_ width"]]:
    """The cells after a layer, but as before it in this part of the complexes, drawn at random.

    Where the layer is kept, what it adds is scaled up, so that the mean stays. Source: Huang et
    al., "Deep Networks with Stochastic Depth" (2016).
    """
    device = before[0].device
    kept = (torch.rand(batch.num_complexes, device=device) >= part).to(before[0].dtype)
    factor = kept / max(1 - part, torch.finfo(torch.float32).eps)
    return [
        old + factor[batch.complex_of(rank)].unsqueeze(1) * (new - old)
        for rank, (old, new) in enumerate(zip(before, after, strict=True))
    ]
