"""From the hidden vectors of cells to a prediction per complex, or per cell."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.attention.segments import segment_sum
from cellformer.basics.suggestions import unknown_choice
from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.config import Pooling, ReadoutCells


def halving_network(width: int, hidden_layers: int, outputs: int, dropout: float) -> nn.Sequential:
    """A network whose hidden layers halve in width, each with ReLU and dropout."""
    widths = [width >> layer for layer in range(hidden_layers + 1)]
    if not widths[-1]:
        raise ValueError(
            f"width ({width}) cannot be halved {hidden_layers} times; use fewer hidden layers"
        )
    steps: list[nn.Module] = []
    for before, after in pairwise(widths):
        steps += [nn.Linear(before, after), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*steps, nn.Linear(widths[-1], outputs))


def pooled_cells(
    rows: Mapping[int, Float[Tensor, "_ column"]], batch: CellBatch, mean: bool
) -> Float[Tensor, "complex column"]:
    """The sum, or the mean, over the cells of each complex, of the ranks whose rows are given.

    A complex without such cells gets zero. There has to be a rank.
    """
    totals = [segment_sum(own, batch.offsets[rank]) for rank, own in rows.items()]
    total = torch.stack(totals).sum(0)
    if not mean:
        return total
    counts = torch.stack([batch.offsets[rank].diff() for rank in rows]).sum(0)
    return total / counts.clamp(min=1).to(total.dtype).unsqueeze(1)


def _if_there(rank: int, batch: CellBatch) -> Sequence[int]:
    return range(rank, min(rank, batch.dim) + 1)


class CellReadout(nn.Module):
    """The same network on each cell of one rank: a prediction per vertex, edge or face.

    *Not in the paper*, which predicts for whole complexes.
    """

    def __init__(self, width: int, hidden_layers: int, outputs: int, *, rank: int, dropout: float):
        super().__init__()
        self.network = halving_network(width, hidden_layers, outputs, dropout)
        self.rank = rank
        self.outputs = outputs

    def ranks(self, batch: CellBatch) -> Sequence[int]:
        """The rank that is read out, where the batch has it."""
        return _if_there(self.rank, batch)

    def forward(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Float[Tensor, "cell output"]:
        """One row per cell of the rank, complex after complex; none where there are none."""
        if self.rank >= len(cells):
            return cells[0].new_zeros((0, self.outputs))
        rows: Tensor = self.network(cells[self.rank])
        return rows


class FlippingReadout(nn.Module):
    """A prediction per cell of one rank that changes its sign with the orientation of the cell.

    Linear maps of y without a constant, column by column times what a network says of x. *Not in
    the paper*.
    """

    def __init__(
        self,
        width: int,
        signed_width: int,
        hidden_layers: int,
        outputs: int,
        *,
        rank: int,
        dropout: float,
    ):
        super().__init__()
        self.sent = nn.Linear(signed_width, signed_width, bias=False)
        self.factors = halving_network(width, hidden_layers, signed_width, dropout)
        self.outer = nn.Linear(signed_width, outputs, bias=False)
        self.rank = rank
        self.outputs = outputs

    def ranks(self, batch: CellBatch) -> Sequence[int]:
        """The rank that is read out, where the batch has it."""
        return _if_there(self.rank, batch)

    def forward(
        self, cells: Sequence[Float[Tensor, "_ both"]], batch: CellBatch
    ) -> Float[Tensor, "cell output"]:
        """One row per cell [x | y] of the rank, complex after complex, where there are any."""
        if self.rank >= len(cells):
            return cells[0].new_zeros((0, self.outputs))
        signed_width = self.sent.in_features
        rows = cells[self.rank]
        x, y = rows.split_with_sizes([rows.shape[1] - signed_width, signed_width], dim=1)
        predicted: Tensor = self.outer(self.sent(y) * self.factors(x))
        return predicted


class Readout(nn.Module):
    """A network on each cell, whose hidden layers halve in width, pooled over each complex.

    Reads out the vertices, or the cells of all ranks with the same network. A complex without
    such cells gets zero. Source: the paper, appendix "Training details".
    """

    def __init__(
        self,
        width: int,
        outputs: int,
        *,
        hidden_layers: int,
        dropout: float,
        cells: ReadoutCells,
        pooling: Pooling,
    ):
        super().__init__()
        for name, chosen, choices in (
            ("readout_cells", cells, get_args(ReadoutCells)),
            ("pooling", pooling, get_args(Pooling)),
        ):
            if chosen not in choices:
                raise unknown_choice(name, chosen, choices)
        self.network = halving_network(width, hidden_layers, outputs, dropout)
        self.all_ranks = cells == "all"
        self.mean = pooling == "mean"

    def ranks(self, batch: CellBatch) -> Sequence[int]:
        """The ranks that are read out."""
        return range(batch.dim + 1) if self.all_ranks else range(1)

    def forward(
        self, cells: Sequence[Float[Tensor, "_ width"]], batch: CellBatch
    ) -> Float[Tensor, "complex output"]:
        """One row per complex of the batch, always."""
        ranks = self.ranks(batch)
        return pooled_cells({rank: self.network(cells[rank]) for rank in ranks}, batch, self.mean)
