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


Attended: TypeAlias = Pattern | Paired
"""Who attends to whom, and what is known of the pairs, where a model describes them."""


class PairTerms(nn.Module):
    """A linear map from a pair's vector to a bias of the score and ``columns`` values per head."""

    def __init__(self, pair_width: int, heads: int, columns: int):
        super().__init__()
        self.heads = heads
        self.linear = nn.Linear(pair_width, heads * (1 + columns))

    def forward(
        self, vectors: Float[Tensor, "pair pair_width"]
    ) -> tuple[Float[Tensor, "pair head"], Float[Tensor, "pair column"] | None]:
        """The biases, and the values in the order (column, head) if there are any."""
        terms: Tensor = self.linear(vectors)
        if terms.shape[1] == self.heads:
            return terms, None
        return terms[:, : self.heads], terms[:, self.heads :]
