"""The arguments of the CPU's operator, arrow by arrow, as its kernels read them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from cellformer.attention.cpu.bundles import Dropout, Inputs, Results, Rows, Settings, Sizes
from cellformer.attention.cpu.packing import Computed, Learned, Step
from cellformer.attention.cpu.pattern import PatternArrays

MOST_LANES = 8  # 16 were no faster with AVX-512; 8 numbers of float32 fill a register of AVX2


class Fixed(NamedTuple):
    """What is not learned; ``patterns`` belong to the steps."""

    patterns: Sequence[PatternArrays]
    seed: Tensor | None
    steps: Sequence[Step]
    scale: float
    dropout: float


class Call:
    """One call of the operator: its tensors as they are given, and as the kernels read them."""

    def __init__(self, learned: Learned, fixed: Fixed):
        self.learned, self.fixed = learned, fixed
        self.steps, self.patterns = fixed.steps, fixed.patterns
        self.matrices = [rows_of(with_adjacent_columns(matrix)) for matrix in learned.matrices]
        self.thetas = [flat(theta) for theta in learned.thetas]
        self.terms = [rows_of(with_adjacent_columns(terms)) for terms in learned.terms]
        self.seed = None if fixed.seed is None else int(fixed.seed)

    def inputs(self, step: Step) -> Inputs:
        """What an arrow reads."""
        nothing = self.matrices[0].data[:0]
        return Inputs(
            query=columns_of(self.matrices[step.query], step.query_start),
            key=columns_of(self.matrices[step.key], step.key_start),
            value=columns_of(self.matrices[step.value], step.value_start),
            terms=self.terms[step.terms] if step.terms >= 0 else Rows(nothing, 0),
            theta=self.thetas[step.theta] if step.dense else nothing,
            biased=step.terms >= 0,
        )

    def settings(self, number: int) -> Settings:
        """Of an arrow, with another sequence of random numbers for each."""
        step = self.steps[number]
        return Settings(
            sizes=Sizes(step.head_width, step.value_width, step.pair_width, step.heads),
            scale=self.fixed.scale,
            dropout=self._dropout(number),
            zero=(0,) * _lanes(step.heads),
        )

    def _dropout(self, number: int) -> Dropout:
        if self.seed is None:
            return Dropout(seed=0, threshold=np.uint32(0), factor=1.0)
        share = self.fixed.dropout
        return Dropout(
            seed=(self.seed + number) % 2**63,
            threshold=np.uint32(min(round(share * 2**32), 2**32 - 1)),
            factor=1 / (1 - share) if share < 1 else 0.0,
        )

    def results(self, computed: Computed) -> list[Results]:
        """Where the results of each arrow go, or went."""
        outputs = [rows_of(output) for output in computed.outputs]
        return [
            Results(
                output=columns_of(outputs[step.output], step.output_start),
                log_sum_exp=flat(log_sum_exp),
            )
            for step, log_sum_exp in zip(self.steps, computed.log_sum_exps, strict=True)
        ]

    def size(self, number: int) -> int:
        """About how many numbers are read."""
        step, pattern = self.steps[number], self.patterns[number]
        return pattern.num_pairs * step.heads * (step.head_width + step.received_width)


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


def _lanes(heads: int) -> int:
    """The largest power of 2 that divides the number of heads, up to `MOST_LANES`."""
    return min(heads & -heads, MOST_LANES)
