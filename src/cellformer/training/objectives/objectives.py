"""All that is learned of the complexes themselves in one step."""

from collections.abc import Mapping
from typing import TypeAlias

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.config import DataShape
from cellformer.model.described import CellModel, transformer_of
from cellformer.training.config import ObjectivesConfig
from cellformer.training.objectives.masking import MaskedFeatures, masked
from cellformer.training.objectives.pairs import VertexPairs

Sums: TypeAlias = Mapping[str, tuple[Float[Tensor, ""], Shaped[Tensor, ""]]]
"""By the name of an objective: the sum of its losses, and of how many."""


class Objectives(nn.Module):
    """Has a model predict, and its cells guess what they were not told.

    Its own weights guess from the vectors of cells and are of no use after training.
    """

    def __init__(self, chosen: ObjectivesConfig, model: CellModel):
        super().__init__()
        self.chosen = chosen
        self.weights = {
            name: weight
            for name, weight in (("masked", chosen.masked), ("pairs", chosen.pairs))
            if weight
        }
        transformer = transformer_of(model)
        width = transformer.config.architecture.width
        self.features = MaskedFeatures(transformer.embedding, width) if chosen.masked else None
        self.pairs = VertexPairs(width) if chosen.pairs else None

    def forward(
        self, model: CellModel, batch: CellBatch, seed: int
    ) -> tuple[Float[Tensor, "row output"], Sums]:
        """The prediction of the model, which does not see what is hidden, and the losses.

        ``model`` is the one that these objectives were made for, or one with the same shapes.
        """
        embedding = transformer_of(model).embedding
        hidden = None
        if self.features is not None:
            hidden = masked(batch, embedding, self.chosen.masked_share, seed)
        outputs, cells = model.told_with_cells(batch if hidden is None else hidden.batch)
        cells = [rows.float() for rows in cells]
        sums = {}
        if self.features is not None and hidden is not None:
            sums["masked"] = self.features(embedding, cells, batch, hidden)
        if self.pairs is not None:
            sums["pairs"] = self.pairs(embedding, cells, batch, seed)
        return outputs, sums

    def joined(
        self, loss: Float[Tensor, ""], parts: Mapping[str, Float[Tensor, ""]]
    ) -> Float[Tensor, ""]:
        """The loss of the targets plus the weighted others."""
        weighted = [self.weights[name] * part for name, part in parts.items()]
        return torch.stack([loss, *weighted]).sum()


def check_objectives(chosen: ObjectivesConfig, shape: DataShape) -> None:
    """Raises ValueError where there is nothing to hide of such complexes."""
    if chosen.masked and not any(shape.categories) and not any(shape.continuous):
        raise ValueError(
            "objectives.masked hides the features of cells, and these complexes have none; leave "
            "it out, or set it to 0"
        )


def objectives_of(chosen: ObjectivesConfig, model: CellModel) -> Objectives | None:
    """Those of a configuration, None where nothing but targets is learned.

    Drawing their weights leaves the state of the generator as it is.
    """
    if not (chosen.masked or chosen.pairs):
        return None
    with torch.random.fork_rng(devices=[]):
        return Objectives(chosen, model)
