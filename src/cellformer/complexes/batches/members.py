"""Cells grouped by the complex that each belongs to."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int64
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Members:
    """The cells of each complex: ``order[offsets[i]:offsets[i + 1]]`` for complex i.

    Or of each connected component, or of whatever else cells are grouped by.
    """

    order: Int64[Tensor, " cell"]
    offsets: Int64[Tensor, " complex_plus_1"]
    places: Int64[Tensor, " cell"]  # of each cell within its complex

    @property
    def counts(self) -> Int64[Tensor, " complex"]:
        """The number of cells of each complex."""
        return self.offsets.diff()

    @classmethod
    def of(cls, complex_of: Int64[Tensor, " cell"], num_complexes: int) -> "Members":
        """Groups cells by the complex that each belongs to."""
        order = complex_of.argsort(stable=True)
        offsets = order.new_zeros(num_complexes + 1)
        torch.cumsum(complex_of.bincount(minlength=num_complexes), 0, out=offsets[1:])
        places = torch.empty_like(order)
        places[order] = torch.arange(len(order), device=order.device) - offsets[complex_of[order]]
        return cls(order, offsets, places)

    def padded(
        self, complexes: Int64[Tensor, " chosen"], slots: int
    ) -> tuple[Int64[Tensor, "chosen slot"], Bool[Tensor, "chosen slot"]]:
        """The cells of some complexes, one complex per row, and which slots are filled."""
        slot = torch.arange(slots, device=complexes.device)
        filled = slot < self.counts[complexes, None]
        positions = (self.offsets[complexes, None] + slot).where(filled, 0)
        return self.order[positions].where(filled, 0), filled
