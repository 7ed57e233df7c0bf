"""How alike two complexes are, by the descriptors of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Float32, Int64, UInt8
from torch import Tensor

BLOCK = 2048
"""Columns of counts that are compared by themselves: those of one fingerprint."""
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
    own, other = _totals(counts, width), _totals(others, width)
    alike = torch.zeros(blocks, len(counts), len(others), device=counts.device)
    for number, row in enumerate(counts):
        for block, (mine, theirs) in enumerate(zip(own[number], other.t(), strict=True)):
            part = slice(block * width, (block + 1) * width)
            present = row[part].nonzero()[:, 0]
            smaller = torch.minimum(turned[part][present], row[part][present][:, None])
            common = smaller.sum(0, dtype=torch.int32)
            union = mine + theirs - common
            alike[block, number] = torch.where(union > 0, common / union.clamp(min=1), 1.0)
    return alike


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
