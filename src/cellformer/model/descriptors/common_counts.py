"""The sums of the smaller ones of two complexes' counts, compiled."""

from typing import no_type_check

import numpy as np
import torch
from jaxtyping import Int32, UInt8
from torch import Tensor

from cellformer.attention.cpu.compiled import Work, kernel, run


def common_counts(
    counts: UInt8[Tensor, "row count"], turned: UInt8[Tensor, "count other"], width: int
) -> Int32[Tensor, "block row other"]:
    """For each block of ``width`` columns, the counts that rows have in common with others.

    The others have a row for each column, of which those are read where a row counts anything.
    All tensors lie in the memory of the processor.
    """
    blocks = counts.shape[1] // width
    common = torch.zeros(blocks, len(counts), turned.shape[1], dtype=torch.int32)
    arrays = [each.contiguous().numpy() for each in (counts, turned, common)]
    size = int(counts.count_nonzero()) * turned.shape[1]
    run([Work(add_common_counts, size, (*arrays, width))])
    return common


@kernel
@no_type_check
def add_common_counts(part, parts, counts, turned, common, width):
    """Adds those of one part of the rows."""
    rows, columns = counts.shape
    for row in range(rows * part // parts, min(rows, rows * (part + 1) // parts)):
        for column in range(columns):
            count = counts[row, column]
            if count != 0:
                theirs, summed = turned[column], common[column // width, row]
                for other in range(len(theirs)):
                    summed[other] += np.int32(min(count, theirs[other]))
