"""Several attentions at once, as a layer needs them: what each reads, and where its result goes."""

from typing import NamedTuple, TypeAlias

from jaxtyping import Float
from torch import Tensor

from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.complexes.batches.neighborhood import Neighborhood

Pattern: TypeAlias = Neighborhood | DenseBlocks
"""Who attends to whom: stored pairs (sparse) or all pairs within each complex (dense)."""


class ColumnBlock(NamedTuple):
    """Adjacent columns of one of several matrices, from ``start`` on; its reader knows how many."""

    matrix: int
    start: int


class ArrowAttention(NamedTuple):
    """One attention of ``heads`` heads; all its columns are in the order (column, head).

    ``theta``, of one entry or one per head, belongs to a dense pattern alone, ``bias`` to a
    sparse one, and so do ``pair_values``, whose columns follow those of the values in the output;
    see `cellformer.attention.operator.attend`.
    """

    query: ColumnBlock
    key: ColumnBlock
    value: ColumnBlock
    output: ColumnBlock
    head_width: int
    value_width: int
    heads: int
    pattern: Pattern
    theta: Float[Tensor, " theta"] | None = None
    bias: Float[Tensor, "pair head_or_1"] | None = None
    pair_values: Float[Tensor, "pair pair_column"] | None = None

    @property
    def pair_width(self) -> int:
        """The columns of each head that come from the pairs."""
        if self.pair_values is None or not self.heads:
            return 0
        return self.pair_values.shape[1] // self.heads

    @property
    def received_width(self) -> int:
        """The columns of each head in the output."""
        return self.value_width + self.pair_width


class Shape(NamedTuple):
    """Of a matrix that receives."""

    rows: int
    columns: int
