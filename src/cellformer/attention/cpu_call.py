"""The arguments of the CPU's operator, arrow by arrow, as its kernels read them."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cellformer.attention.cpu_dense import Squares
from cellformer.attention.cpu_plan import INDICES, Step, steps_of
from cellformer.attention.cpu_rows import Dropout, Pairs, Rows, TransposedPairs
from cellformer.attention.cpu_tiles import Tiles, is_balanced
from cellformer.complexes import transposed as transposition

MOST_LANES = 8  # 16 were no faster with AVX-512; 8 numbers of float32 fill a register of AVX2


class Call:
    """One call of the operator."""

    def __init__(
        self,
        matrices: list[Tensor],
        thetas: list[Tensor],
        biases: list[Tensor],
        indices: list[Tensor],
        seed: Tensor | None,
        plan: list[int],
        scale: float,
        dropout: float,
    ):
        self.steps = steps_of(plan)
        self.matrices = [with_adjacent_columns(matrix) for matrix in matrices]
        self.thetas, self.biases, self.indices = thetas, biases, indices
        self.seed = None if seed is None else int(seed)
        self.scale, self.dropout = scale, dropout

    def inputs(self, step: Step) -> tuple[Rows, Rows, Rows]:
        """Query, key and value."""
        return (
            rows_of(self.matrices[step.query], step.query_start),
            rows_of(self.matrices[step.key], step.key_start),
            rows_of(self.matrices[step.value], step.value_start),
        )

    def pattern(self, number: int) -> list[Tensor]:
        """The index tensors of an arrow."""
        return self.indices[number * INDICES : (number + 1) * INDICES]

    def pairs(self, number: int) -> Pairs:
        """Of a sparse arrow."""
        offsets, senders, weights, *_ = self.pattern(number)
        bias = self.steps[number].bias
        biases = self.matrices[0].new_empty(0) if bias < 0 else self.biases[bias]
        arrays = (offsets.numpy(), senders.numpy(), weights.detach().numpy(), flat(biases))
        return Pairs(*arrays, bias >= 0)

    def squares(self, number: int) -> tuple[Squares, NDArray[Any]]:
        """Of a dense arrow, and its theta."""
        pattern = self.pattern(number)[: len(Squares._fields)]
        arrays = [tensor.detach().numpy() for tensor in pattern]
        return Squares(*arrays), flat(self.thetas[self.steps[number].theta])

    def transposed(self, number: int, num_senders: int) -> TransposedPairs:
        """Of a sparse arrow."""
        offsets, senders, *_ = self.pattern(number)
        given = self.pattern(number)[9:]
        if not len(given[0]):
            made = transposition.TransposedPairs.of(num_senders, offsets.long(), senders.long())
            given = [made.offsets, made.receivers, made.pairs]
        return TransposedPairs(*(tensor.numpy() for tensor in given))

    def tiles(self, number: int) -> Tiles | None:
        """Of a sparse arrow, if it falls into enough parts for all threads."""
        work, *rest = (tensor.numpy() for tensor in self.pattern(number)[3:9])
        known = len(work) > 0
        return Tiles(work, *rest) if known and is_balanced(work, torch.get_num_threads()) else None

    def drawn(self, number: int) -> Dropout:
        """Another sequence of random numbers for each arrow."""
        if self.seed is None:
            return Dropout(0, np.uint32(0), 1.0)
        factor = 1 / (1 - self.dropout) if self.dropout < 1 else 0.0
        threshold = np.uint32(min(round(self.dropout * 2**32), 2**32 - 1))
        return Dropout((self.seed + number) % 2**63, threshold, factor)

    def size(self, number: int) -> int:
        """About how many numbers are read."""
        step, indices = self.steps[number], self.pattern(number)
        pairs = int(indices[5][-1]) if step.dense else len(indices[1])
        return pairs * step.heads * (step.head_width + step.value_width)


def flat(tensor: Tensor) -> NDArray[Any]:
    """The numbers of a tensor, without a copy where it is contiguous."""
    # Not flatten(): of a broadcast tensor it makes a view that is not contiguous.
    array: NDArray[Any] = tensor.detach().contiguous().view(-1).numpy()
    return array


def with_adjacent_columns(matrix: Tensor) -> Tensor:
    """The matrix, copied only if the numbers of a row are apart or its rows overlap."""
    apart = matrix.shape[1] > 1 and matrix.stride(1) != 1
    return matrix.contiguous() if apart or matrix.stride(0) < matrix.shape[1] else matrix


def rows_of(matrix: Tensor, start: int) -> Rows:
    """The columns from ``start`` on, without a copy."""
    count, columns = matrix.shape
    if not count or not columns:
        return Rows(flat(matrix.new_empty(0)), columns)
    stride = matrix.stride(0) if count > 1 else columns
    end = (count - 1) * stride + columns - start
    offset = matrix.storage_offset() + start
    return Rows(matrix.detach().as_strided((end,), (1,), offset).numpy(), stride)


def lanes_of(heads: int) -> tuple[int, ...]:
    """As long as the largest power of 2 that divides the number of heads, up to `MOST_LANES`."""
    return (0,) * min(heads & -heads, MOST_LANES)
