"""Gathering rows and reducing runs of rows: what edge lists in CSR form need.

Of the ways that PyTorch offers (index_select with index_add, gather with scatter_add, embedding
with segment_reduce), the last was the fastest on a CPU, about twice as fast as the first, and
both its forward and its backward add in a fixed order, so results are reproducible bit for bit.
"""

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn import functional

from cellformer.complexes.batches.runs import is_exporting, numbers_of


def gather_rows(
    rows: Float[Tensor, "row *features"], index: Int64[Tensor, "*shape"]
) -> Float[Tensor, "..."]:
    """``rows[index]``, of shape (*shape, *features), with a fast and deterministic backward."""
    if is_exporting():  # whether a reshape copies depends on there being more than one row
        return rows[index]
    # The width is spelled out because -1 is ambiguous for a tensor without elements.
    flat = rows.reshape(len(rows), rows.shape[1:].numel())
    return functional.embedding(index, flat).reshape(*index.shape, *rows.shape[1:])


def segment_sum(
    rows: Float[Tensor, "row *features"], offsets: Int64[Tensor, " segment_plus_1"]
) -> Float[Tensor, "segment *features"]:
    """The sum of the rows ``offsets[i]:offsets[i + 1]`` for every i; zero where there are none."""
    if is_exporting():
        sums = rows.new_zeros(len(offsets) - 1, *rows.shape[1:])
        return sums.index_add(0, numbers_of(offsets, len(rows)), rows)
    return torch.segment_reduce(rows, "sum", offsets=offsets, axis=0, initial=0)


def segment_max(
    rows: Float[Tensor, "row *features"], offsets: Int64[Tensor, " segment_plus_1"]
) -> Float[Tensor, "segment *features"]:
    """The largest of the rows ``offsets[i]:offsets[i + 1]``; minus infinity where are none."""
    if is_exporting():
        lowest = rows.new_full((len(offsets) - 1, *rows.shape[1:]), float("-inf"))
        numbers = numbers_of(offsets, len(rows)).view(len(rows), *(1 for _ in rows.shape[1:]))
        return lowest.scatter_reduce(0, numbers.expand_as(rows), rows, "amax")
    return torch.segment_reduce(rows, "max", offsets=offsets, axis=0)
