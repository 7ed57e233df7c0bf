"""How alike two complexes are, by the descriptors of both."""

import torch
from jaxtyping import Float, Float32, UInt8
from torch import Tensor

BLOCK = 2048
"""Columns of counts that are compared by themselves: those of one fingerprint."""
STEEPNESS = 0.3


def shared_counts(
    counts: UInt8[Tensor, "row count"], others: UInt8[Tensor, "other count"]
) -> Float32[Tensor, "row other"]:
    """The counts that two complexes have in common, as a part of all that either has.

    The sum of the smaller counts by the sum of the larger ones, the mean over the fingerprints; 1
    where neither has any. Source: Tanimoto's coefficient for counts, a positive definite kernel
    (Ralaivola et al., "Graph kernels for chemical informatics", 2005).
    """
    columns, blocks = counts.shape[1], max(1, counts.shape[1] // BLOCK)
    width = columns // blocks if columns % blocks == 0 else columns
    turned = others.t().contiguous()  # a row of it for each column: those of a few are read
    own, other = _totals(counts, width), _totals(others, width)
    alike = torch.zeros(len(counts), len(others), device=counts.device)
    for number, row in enumerate(counts):
        for block, (mine, theirs) in enumerate(zip(own[number], other.t(), strict=True)):
            part = slice(block * width, (block + 1) * width)
            present = row[part].nonzero()[:, 0]
            smaller = torch.minimum(turned[part][present], row[part][present][:, None])
            common = smaller.sum(0, dtype=torch.int32)
            union = mine + theirs - common
            alike[number] += torch.where(union > 0, common / union.clamp(min=1), 1.0)
    return alike / own.shape[1]


def _totals(counts: UInt8[Tensor, "row count"], width: int) -> Tensor:
    blocks = counts.view(len(counts), counts.shape[1] // width, width)
    return blocks.sum(2, dtype=torch.int32)


def near_values(
    values: Float[Tensor, "row value"], others: Float[Tensor, "other value"]
) -> Float[Tensor, "row other"]:
    """1 for equal values, and less the farther they lie apart: a Gaussian of the mean square.

    ``values`` are in units of their deviation.
    """
    columns = max(1, values.shape[1])
    squares = values.square().sum(1)[:, None] + others.square().sum(1) - 2 * values @ others.t()
    return torch.exp(squares.clamp(min=0) * (-STEEPNESS / columns))
