"""Several attentions at once, as a layer needs them: what each reads, and where its result goes."""

from typing import NamedTuple, TypeAlias

from jaxtyping import Float
from torch import Tensor

from cellformer.attention.dense.all_pairs import ListedPairs
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.complexes.batches.neighborhood import Neighborhood

Pattern: TypeAlias = Neighborhood | DenseBlocks | ListedPairs
"""Who attends to whom: stored pairs (sparse) or all pairs within each complex (dense)."""


class ColumnBlock(NamedTuple):
    """Adjacent columns of one of several matrices, from ``start`` on; its reader knows how many."""

    matrix: int
    start: int


class ArrowAttention(NamedTuple):
    """One attention of ``heads`` heads; all its columns are in the order (column, head).

    ``theta``, of one entry or one per head, belongs to a dense pattern alone. ``terms`` belong to
    the pairs of a sparse one: a bias of the scores for each head, then columns of values for each,
    whose averages follow those of the values in the output. See
    `cellformer.attention.operator.attend`.
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
    terms: Float[Tensor, "pair term"] | None = None

    @property
    def pair_width(self) -> int:
        """The columns of each head that come from the pairs."""
        return 0 if self.terms is None or not self.heads else self.terms.shape[1] // self.heads - 1

    @property
    def bias(self) -> Float[Tensor, "pair head"] | None:
        """Of the scores."""
        return None if self.terms is None else self.terms[:, : self.heads]

    @property
    def received_width(self) -> int:
        """The columns of each head in the output."""
        return self.value_width + self.pair_width


class Shape(NamedTuple):
    """Of a matrix that receives."""

    rows: int
    columns: int
