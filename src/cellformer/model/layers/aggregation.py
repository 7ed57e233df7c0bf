"""What a cell makes of the averages that attention gives it.

*Not in the paper*. A softmax averages, so that a cell with three neighbors receives the same as one
with two that are like them.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.attention.dense.all_pairs import ListedPairs
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.model.config import DegreeScaling
from cellformer.model.relations.pair_terms import Attended, Paired, Signed


def degrees(attended: Attended) -> Float[Tensor, " receiver"]:
    """The number of neighbors of each receiver: of entries of N, in dense attention too."""
    match attended:
        case (
            Paired(neighborhood=neighborhood)
            | Signed(neighborhood=neighborhood)
            | DenseBlocks(neighborhood=neighborhood)
        ):
            counts = neighborhood.offsets.diff()
        case ListedPairs(degrees=known):
            assert known is not None
            counts = known
        case _:
            counts = attended.offsets.diff()
    return counts.float()


class ScalingByDegree(nn.Module):
    """Multiplies what a cell receives along each arrow by a line in its number of neighbors d.

    Each column has a line of its own, a + b d or a + b log(1 + d); they start at 1, the average.
    With b alone it is the sum over the neighbors. Sources: Corso et al., "Principal Neighbourhood
    Aggregation for Graph Nets" (2020); Ma et al., "Graph Inductive Biases in Transformers without
    Message Passing" (2023), section 3.2.
    """

    def __init__(self, columns: int, arrows: int, kind: DegreeScaling):
        super().__init__()
        self.kind = kind
        self.constant = nn.Parameter(torch.ones(arrows, columns))
        self.slope = nn.Parameter(torch.zeros(arrows, columns))

    def forward(
        self, received: Float[Tensor, "cell columns"], degree: Float[Tensor, "cell arrow"]
    ) -> Float[Tensor, "cell columns"]:
        """The scaled columns, those of arrow after arrow."""
        known = degree.log1p() if self.kind == "log" else degree
        factor = self.constant + self.slope * known.to(self.slope.dtype).unsqueeze(2)
        return received * factor.flatten(1).to(received.dtype)


class Gate(nn.Module):
    """Multiplies each column of what a cell receives by a number in 0 ... 1 that the cell decides.

    Source: Bresson and Laurent, "Residual Gated Graph ConvNets" (2017), with one gate for all
    neighbors of an arrow.
    """

    def __init__(self, width: int, columns: int):
        super().__init__()
        self.linear = nn.Linear(width, columns)

    def forward(
        self, received: Float[Tensor, "cell columns"], cells: Float[Tensor, "cell width"]
    ) -> Float[Tensor, "cell columns"]:
        """The gated columns; ``cells`` are what receives."""
        return received * torch.sigmoid(self.linear(cells))


def adjusted(
    received: Float[Tensor, "cell columns"],
    cells: Float[Tensor, "cell width"],
    attended: Sequence[Attended | None],
    scaling: ScalingByDegree | None,
    gate: Gate | None,
) -> Float[Tensor, "cell columns"]:
    """What is received, scaled by the number of neighbors along each arrow and gated, if at all.

    ``cells`` are those that receive, after the norm; each arrow has what was attended to, if
    anything was.
    """
    if scaling is not None:
        nothing = received.new_zeros(len(received), dtype=torch.float32)
        degree = [nothing if each is None else degrees(each) for each in attended]
        received = scaling(received, torch.stack(degree, dim=1))
    if gate is not None:
        received = gate(received, cells)
    return received
