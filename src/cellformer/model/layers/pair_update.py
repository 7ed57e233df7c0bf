"""What pairs of cells learn between two layers from what their cells have become.

*Not in the paper*. As edges learn from their ends in the networks of Bresson and Laurent, "Residual
Gated Graph ConvNets" (2017), and of Dwivedi and Bresson, "A Generalization of Transformer Networks
to Graphs" (2020). *Deviation*: there they do so within a layer, here between two of them, so that
attention stays as it is; and cells are normed first, as for a layer.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from cellformer.attention.segments import gather_rows
from cellformer.complexes.batches.runs import is_exporting, numbers_of
from cellformer.model.config import Norm
from cellformer.model.layers.norms import norm_of
from cellformer.model.relations.pair_terms import Paired
from cellformer.model.relations.relation import Relation


class PairUpdate(nn.Module):
    """Adds ReLU(norm(U e + A norm(x) + B norm(y))) to the vector e of each pair of a relation.

    There x is the hidden vector of the receiver and y that of the sender. A and B are applied to
    cells, so that pairs are given ``pair_width`` columns only.
    """

    def __init__(self, relation: Relation, width: int, pair_width: int, norm: Norm):
        super().__init__()
        self.receivers, self.senders = relation.receivers, relation.senders
        self.pairs = nn.Linear(pair_width, pair_width)
        self.receiver, self.sender = (
            nn.Sequential(norm_of(norm, width), nn.Linear(width, pair_width, bias=False))
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(pair_width)

    def forward(self, paired: Paired, cells: Sequence[Float[Tensor, "_ width"]]) -> Paired:
        """The same pairs; ``cells`` are the hidden vectors per rank after a layer."""
        neighborhood, vectors = paired
        if is_exporting():  # what is kept with a neighborhood cannot be traced
            receivers = numbers_of(neighborhood.offsets, len(neighborhood.senders))
        else:
            receivers = neighborhood.receivers
        inner = self.pairs(vectors)
        for ends, ranks, index in (
            (self.receiver, self.receivers, receivers),
            (self.sender, self.senders, neighborhood.senders),
        ):
            inner = inner.add_(_of_cells(ends, cells, ranks, index))
        return Paired(neighborhood, vectors + self.norm(inner).relu_())


def _of_cells(
    told: nn.Module,
    cells: Sequence[Float[Tensor, "_ width"]],
    ranks: Sequence[int],
    index: Int64[Tensor, " pair"],
) -> Float[Tensor, "pair pair_width"]:
    """What the cells of these numbers tell, counted over those of the ranks that there are."""
    rows = torch.cat([cells[rank] for rank in ranks if rank < len(cells)])
    return gather_rows(told(rows), index)
