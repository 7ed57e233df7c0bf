"""What a layer makes of the vectors that describe pairs of cells.

*Not in the paper*, whose scores know N alone of a pair.
"""

from typing import NamedTuple, TypeAlias

from jaxtyping import Float
from torch import Tensor, nn

from cellformer.attention.arrows import Pattern
from cellformer.complexes.batches.neighborhood import Neighborhood


class Paired(NamedTuple):
    """A neighborhood, and a vector for each of its pairs."""

    neighborhood: Neighborhood
    vectors: Float[Tensor, "pair pair_width"]


class Signed(NamedTuple):
    """A pattern for what does not flip with orientation, and a neighborhood for what does.

    In sparse attention both are the same. The senders of the neighborhood stand in `copies`.
    """

    pattern: Pattern
    neighborhood: Neighborhood

    @property
    def dense(self) -> bool:
        """Whether the two differ."""
        return self.pattern is not self.neighborhood


Attended: TypeAlias = Pattern | Paired | Signed
"""Who attends to whom, and what is known of the pairs, where a model describes them."""


class PairTerms(nn.Module):
    """A linear map from a pair's vector to a bias of the score and ``columns`` values per head.

    It adds no constant: the softmax would not see it.
    """

    def __init__(self, pair_width: int, heads: int, columns: int):
        super().__init__()
        self.linear = nn.Linear(pair_width, heads * (1 + columns), bias=False)

    def forward(self, vectors: Float[Tensor, "pair pair_width"]) -> Float[Tensor, "pair term"]:
        """The terms of each pair, as `ArrowAttention` has them."""
        terms: Tensor = self.linear(vectors)
        return terms
