"""The pairs of dense attention, listed one by one."""

from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.complexes.batches.neighborhood import Neighborhood


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """The pairs of dense attention one by one, for a model that is `exporting`.

    The weights of ``pairs`` are N. ``degrees`` counts the entries of N of each receiver, if that is
    asked for.
    """

    pairs: Neighborhood
    degrees: Int64[Tensor, " receiver"] | None = None

    @property
    def num_receivers(self) -> int:
        """The number of cells that attend."""
        return self.pairs.num_receivers

    @property
    def num_senders(self) -> int:
        """The number of cells that are attended to."""
        return self.pairs.num_senders


@dataclass(frozen=True, eq=False)
class AllPairs:
    """Every sender of the receiver's own complex, and N at every pair."""

    neighborhood: Neighborhood
    weights: Float32[Tensor, " pair"]

    @classmethod
    def of(cls, layout: DenseBlocks) -> "AllPairs":
        """Lists the pairs of the blocks by receiver, then by sender."""
        receivers, senders, weights = [], [], []
        for block in layout.blocks:
            filled = block.has_receiver[:, :, None] & block.has_sender[:, None, :]
            receivers.append(block.receivers[:, :, None].expand_as(filled)[filled])
            senders.append(block.senders[:, None, :].expand_as(filled)[filled])
            weights.append(block.weights[filled])
        if not layout.blocks:
            offsets = torch.zeros(layout.num_receivers + 1, dtype=torch.int64)
            none = torch.zeros(0)
            return cls(Neighborhood(layout.num_senders, offsets, none.long(), none), none)
        receiver, sender, weight = torch.cat(receivers), torch.cat(senders), torch.cat(weights)
        order = (receiver * layout.num_senders + sender).argsort()
        counts = receiver.bincount(minlength=layout.num_receivers)
        offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        ones = torch.ones_like(weight)
        return cls(Neighborhood(layout.num_senders, offsets, sender[order], ones), weight[order])
