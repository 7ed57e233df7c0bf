"""What a model makes of the descriptors of whole complexes.

*Not in the paper*, whose complexes have none.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.config import DescriptorShape


class DescriptorValues(nn.Module):
    """The measured values of complexes, standardized, and how they reach a prediction.

    They are added to the hidden vectors of all cells, so that what a cell means may depend on
    them, and to the prediction. An unknown value is taken for the mean of training; where it was
    unknown in training too, a column of its own says so.
    """

    def __init__(self, shape: DescriptorShape, width: int, outputs: int):
        super().__init__()
        self.shape = shape
        self.blanks = [number for number, blank in enumerate(shape.blank) if blank]
        self.columns = columns = len(shape.mean) + len(self.blanks)
        self.to_cells = nn.Linear(columns, width, bias=False)
        self.network = nn.Sequential(
            nn.Linear(columns, width), nn.ReLU(), nn.Linear(width, outputs)
        )

    def known(self, batch: CellBatch) -> Float[Tensor, "complex column"]:
        """The values in units of their deviation, and 1 where one is unknown that may be so."""
        values = described(batch, self.shape)[:, self.shape.counts :]
        unknown = torch.isnan(values)
        scaled = standardized(values, self.shape)
        joined = torch.cat([scaled, unknown[:, self.blanks].to(scaled.dtype)], dim=1)
        weight: Tensor = self.to_cells.weight
        return joined.to(weight.dtype)

    def forward(self, known: Float[Tensor, "complex column"]) -> Float[Tensor, "complex output"]:
        """What is added to the prediction."""
        added: Tensor = self.network(known)
        return added

    def shifted(
        self,
        cells: Sequence[Float[Tensor, "_ width"]],
        known: Float[Tensor, "complex column"],
        batch: CellBatch,
    ) -> list[Float[Tensor, "_ width"]]:
        """The hidden vectors of all cells, moved by what is known of their complex."""
        shift = self.to_cells(known)
        return [rows + shift[batch.complex_of(rank)] for rank, rows in enumerate(cells)]


class CountHead(nn.Module):
    """A prediction from counts, and from values where there are any, by one hidden layer.

    A count n is read as log(1 + n). It has a ``share`` in the joint prediction, a half until
    `balance` chooses it. While training, each complex is predicted either from its cells or from
    its counts, by lot: were the two added up instead, the counts, which are learned by heart in a
    few epochs, would leave nothing for the cells to learn.
    """

    def __init__(self, shape: DescriptorShape, values: int, width: int, outputs: int, drop: float):
        super().__init__()
        self.shape = shape
        self.lost = nn.Dropout(0.4 * drop)  # 0.2 of the counts where 0.5 of the hidden columns
        self.hidden = nn.Linear(shape.counts + values, width)
        self.network = nn.Sequential(nn.ReLU(), nn.Dropout(drop), nn.Linear(width, outputs))
        self.register_buffer("share", torch.tensor(0.5))

    @property
    def answers(self) -> bool:
        """Whether it takes part in the joint prediction."""
        return True

    def forward(
        self, batch: CellBatch, known: Float[Tensor, "complex column"] | None
    ) -> Float[Tensor, "complex output"]:
        """One row per complex; ``known`` are its `DescriptorValues.known`."""
        counts = described(batch, self.shape)[:, : self.shape.counts]
        read = self.lost(counts.log1p().to(self.hidden.weight.dtype))
        read = read if known is None else torch.cat([read, known], dim=1)
        prediction: Tensor = self.network(self.hidden(read))
        return prediction

    def joined(
        self, from_cells: Float[Tensor, "row output"], from_counts: Float[Tensor, "row output"]
    ) -> Float[Tensor, "row output"]:
        """One of the two by lot while training, else their mean, weighted by the share."""
        if self.training:
            lot = torch.rand(len(from_cells), 1, device=from_cells.device)
            return torch.where(lot < 0.5, from_counts, from_cells)
        return torch.lerp(from_cells, from_counts, self.get_buffer("share").to(from_cells))


def standardized(
    values: Float[Tensor, "complex value"], shape: DescriptorShape
) -> Float[Tensor, "complex value"]:
    """The values in units of their deviation from the mean, which stands in for unknown ones."""
    mean, deviation = values.new_tensor([shape.mean, shape.deviation])
    return torch.where(torch.isnan(values), 0.0, (values - mean) / deviation)


def described(batch: CellBatch, shape: DescriptorShape) -> Float[Tensor, "complex descriptor"]:
    """The descriptors of a batch; raises ValueError unless they are those that the model knows."""
    given = 0 if batch.descriptors is None else batch.descriptors.shape[1]
    if batch.descriptors is None or given != shape.columns:
        raise ValueError(
            f"the batch has {given} descriptors for each complex, but the model was made for "
            f"{shape.counts} counts and {len(shape.mean)} values; describe the complexes as those "
            "that it learned from (data.descriptors, data.molecule_descriptors)"
        )
    return batch.descriptors
