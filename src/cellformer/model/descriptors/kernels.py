"""How alike two complexes are, by the descriptors of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Float32, Int32, Int64, UInt8
from torch import Tensor

from cellformer.model.descriptors.common_counts import common_counts

BLOCK = 2048
"""Columns of counts that are compared by themselves: those of one fingerprint."""
ROWS = 256
"""That are compared with all others at once."""
STEPS = 4096
"""Counts of references that are compared at once where a model is exported."""


def fingerprints_in(columns: int) -> int:
    """The number of fingerprints whose counts these columns are."""
    return columns // BLOCK if columns and columns % BLOCK == 0 else 1


def shared_counts(
    counts: UInt8[Tensor, "row count"], others: UInt8[Tensor, "other count"]
) -> Float32[Tensor, "fingerprint row other"]:
    """For each fingerprint, the counts that two complexes have in common, of all that either has.

    The sum of the smaller counts by the sum of the larger ones, 1 where neither has any. Source:
    Tanimoto's coefficient for counts, a positive definite kernel (Ralaivola et al., "Graph kernels
    for chemical informatics", 2005).
    """
    blocks = fingerprints_in(counts.shape[1])
    width = counts.shape[1] // blocks
    turned = others.t().contiguous()  # a row of it for each column: those of a few are read
    # All that the others have is what they have in common with a row that has most of everything.
    total = _common(counts.new_full((1, counts.shape[1]), 255), turned, width)
    alike = torch.empty(blocks, len(counts), len(others), device=counts.device)
    for begin in range(0, len(counts), ROWS):
        rows = slice(begin, begin + ROWS)
        common = _common(counts[rows], turned, width)
        union = _totals(counts[rows], width).t()[:, :, None] + total - common
        alike[:, rows] = torch.where(union > 0, common / union.clamp(min=1), 1.0)
    return alike


def _common(
    counts: UInt8[Tensor, "row count"], turned: UInt8[Tensor, "count other"], width: int
) -> Int32[Tensor, "fingerprint row other"]:
    if counts.device.type == "cpu":
        return common_counts(counts, turned, width)
    return common_row_by_row(counts, turned, width)


def common_row_by_row(
    counts: UInt8[Tensor, "row count"], turned: UInt8[Tensor, "count other"], width: int
) -> Int32[Tensor, "fingerprint row other"]:
    """`common_counts` on any device."""
    common = turned.new_zeros(
        counts.shape[1] // width, len(counts), turned.shape[1], dtype=torch.int32
    )
    for number, row in enumerate(counts):
        for block, part in enumerate(row.split(width)):
            present = part.nonzero()[:, 0]
            smaller = torch.minimum(turned[present + block * width], part[present][:, None])
            common[block, number] = smaller.sum(0, dtype=torch.int32)
    return common


class CountSteps(NamedTuple):
    """Columns of a fingerprint, each with a height that some reference's count there reaches."""

    block: int
    columns: Int64[Tensor, " step"]
    heights: UInt8[Tensor, " step"]


def steps_of(turned: UInt8[Tensor, "count other"]) -> list[CountSteps]:
    """Those that `shared_by_products` needs of some references, a row for each column."""
    blocks = fingerprints_in(turned.shape[0])
    largest = turned.amax(1) if turned.shape[1] else turned.new_zeros(turned.shape[0])
    found = []
    for block, highest in enumerate(largest.view(blocks, -1).long()):
        ends = highest.cumsum(0)
        columns = torch.repeat_interleave(torch.arange(len(highest)), highest)
        heights = torch.arange(len(columns)) - (ends - highest)[columns] + 1
        # As many at once as fit into little memory; each part is a few nodes of an exported file.
        parts = zip(torch.split(columns, STEPS), torch.split(heights, STEPS), strict=True)
        found += [
            CountSteps(block, own + block * len(highest), height.to(torch.uint8))
            for own, height in parts
        ]
    return found


def shared_by_products(
    counts: UInt8[Tensor, "row count"],
    turned: UInt8[Tensor, "count other"],
    steps: Sequence[CountSteps],
) -> Float32[Tensor, "fingerprint row other"]:
    """`shared_counts` by products of matrices, with the `steps_of` the others.

    The smaller of two counts is the number of steps that both reach, and in few columns others
    reach the higher ones. Sums are of whole numbers, so they are exact.
    """
    blocks = fingerprints_in(counts.shape[1])
    width = counts.shape[1] // blocks
    own, other = _totals(counts, width), _totals(turned.t(), width)
    alike = []
    for block in range(blocks):
        common = torch.zeros(counts.shape[0], turned.shape[1], device=counts.device)
        for step in steps:
            if step.block == block:
                mine = (counts.index_select(1, step.columns) >= step.heights).float()
                theirs = (turned.index_select(0, step.columns) >= step.heights[:, None]).float()
                common = common + mine @ theirs
        union = own[:, block, None] + other[:, block] - common
        alike.append(torch.where(union > 0, common / union.clamp(min=1), 1.0))
    return torch.stack(alike)


def _totals(counts: UInt8[Tensor, "row count"], width: int) -> Tensor:
    blocks = counts.reshape(len(counts), counts.shape[1] // width, width)
    return blocks.sum(2, dtype=torch.int32)


def near_values(
    values: Float[Tensor, "row value"], others: Float[Tensor, "other value"]
) -> Float[Tensor, "row other"]:
    """1 for equal values, and less the farther they lie apart, in lengths over which it falls.

    Source: Matérn's kernel of smoothness 3/2 (Rasmussen and Williams, "Gaussian Processes for
    Machine Learning", equation 4.17).
    """
    squares = values.square().sum(1)[:, None] + others.square().sum(1) - 2 * values @ others.t()
    # Not quite zero, where the root has no slope.
    far = (3 * squares.clamp(min=1e-12)).sqrt()
    return (1 + far) * torch.exp(-far)


@dataclass(frozen=True, eq=False)
class KernelWeights:
    """How much each fingerprint and the values say about how alike two complexes are.

    Args:
        weights: Of each fingerprint and, if there are any, of the values.
        scales: By which each value is multiplied before it is compared.
    """

    weights: Float[Tensor, " kernel"]
    scales: Float[Tensor, " value"]

    def alike(
        self,
        shared: Float[Tensor, "fingerprint row other"],
        values: Float[Tensor, "row value"],
        others: Float[Tensor, "other value"],
    ) -> Float[Tensor, "row other"]:
        """The weighted sum of what `shared_counts` and `near_values` give, in the weights' type."""
        alike = self.weights[0] * shared[0].to(self.weights.dtype)
        for weight, one in zip(self.weights[1:], shared[1:], strict=False):
            alike = alike + weight * one.to(weight.dtype)
        if len(self.scales):
            near = near_values(values * self.scales, others * self.scales)
            alike = alike + self.weights[-1] * near
        return alike

    def to(self, dtype: torch.dtype) -> "KernelWeights":
        """The same in another precision."""
        return KernelWeights(self.weights.to(dtype), self.scales.to(dtype))
