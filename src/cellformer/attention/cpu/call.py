"""The arguments of the CPU's operator, arrow by arrow, as its kernels read them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from cellformer.attention.cpu.packing import Step
from cellformer.attention.cpu.pattern import PatternArrays
from cellformer.attention.cpu.rows import Dropout, Pairs, Rows

MOST_LANES = 8  # 16 were no faster with AVX-512; 8 numbers of float32 fill a register of AVX2


class Call:
    """One call of the operator: its tensors as they are given, and as the kernels read them.

    ``patterns`` belong to the steps.
    """

    def __init__(
        self,
        matrices: list[Tensor],
        thetas: list[Tensor],
        biases: list[Tensor],
        patterns: Sequence[PatternArrays],
        seed: Tensor | None,
        steps: Sequence[Step],
        scale: float,
        dropout: float,
    ):
        self.steps, self.patterns = steps, patterns
        self.tensors, self.theta_tensors, self.bias_tensors = matrices, thetas, biases
        self.matrices = [rows_of(with_adjacent_columns(matrix)) for matrix in matrices]
        self.thetas = [flat(theta) for theta in thetas]
        self.biases = [flat(bias) for bias in biases]
        self.seed = None if seed is None else int(seed)
        self.scale, self.dropout = scale, dropout

    def inputs(self, step: Step) -> tuple[Rows, Rows, Rows]:
        """Query, key and value."""
        return (
            columns_of(self.matrices[step.query], step.query_start),
            columns_of(self.matrices[step.key], step.key_start),
            columns_of(self.matrices[step.value], step.value_start),
        )

    def pairs(self, number: int) -> Pairs:
        """Of a sparse arrow."""
        bias = self.steps[number].bias
        biases = self.matrices[0].data[:0] if bias < 0 else self.biases[bias]
        return Pairs(*self.patterns[number].csr, biases, bias >= 0)

    def drawn(self, number: int) -> Dropout:
        """Another sequence of random numbers for each arrow."""
        if self.seed is None:
            return Dropout(0, np.uint32(0), 1.0)
        factor = 1 / (1 - self.dropout) if self.dropout < 1 else 0.0
        threshold = np.uint32(min(round(self.dropout * 2**32), 2**32 - 1))
        return Dropout((self.seed + number) % 2**63, threshold, factor)

    def size(self, number: int) -> int:
        """About how many numbers are read."""
        step, pattern = self.steps[number], self.patterns[number]
        return pattern.num_pairs * step.heads * (step.head_width + step.value_width)


def flat(tensor: Tensor) -> NDArray[Any]:
    """The numbers of a tensor, without a copy where it is contiguous."""
    # Not flatten(): of a broadcast tensor it makes a view that is not contiguous.
    array: NDArray[Any] = tensor.detach().contiguous().view(-1).numpy()
    return array


def with_adjacent_columns(matrix: Tensor) -> Tensor:
    """The matrix, copied only if the numbers of a row are apart or its rows overlap."""
    apart = matrix.shape[1] > 1 and matrix.stride(1) != 1
    return matrix.contiguous() if apart or matrix.stride(0) < matrix.shape[1] else matrix


def rows_of(matrix: Tensor) -> Rows:
    """The rows of a matrix with adjacent columns, without a copy."""
    count, columns = matrix.shape
    if not count or not columns:
        return Rows(flat(matrix.new_empty(0)), columns)
    stride = matrix.stride(0) if count > 1 else columns
    numbers = matrix.detach().as_strided(((count - 1) * stride + columns,), (1,))
    return Rows(numbers.numpy(), stride)


def columns_of(rows: Rows, start: int) -> Rows:
    """The columns from ``start`` on, without a copy."""
    return Rows(rows.data[start:], rows.stride)


def lanes_of(heads: int) -> tuple[int, ...]:
    """As long as the largest power of 2 that divides the number of heads, up to `MOST_LANES`."""
    return (0,) * min(heads & -heads, MOST_LANES)
