"""Guessing the features of cells that were hidden from the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.embedding.embedding import CellEmbedding, FeatureEmbedding
from cellformer.training.objectives.drawing import drawn

UNKNOWN = -1
"""A category of no cell, which adds nothing to a cell's vector."""


@dataclass(frozen=True, eq=False)
class Masked:
    """A batch with hidden features, and the cells that have them."""

    batch: CellBatch
    hidden: dict[int, Bool[Tensor, " cell"]]
    """By rank, for those whose cells have features."""


def masked(batch: CellBatch, embedding: CellEmbedding, share: float, seed: int) -> Masked:
    """Hides the features of about ``share`` of the cells of each rank that has some.

    Hidden categories count as unknown, hidden values as the mean. Which cells they are follows from
    the seed.
    """
    discrete, continuous = [*batch.discrete], [*batch.continuous]
    hidden = {}
    for rank in range(batch.dim + 1):
        if str(rank) not in embedding.features:
            continue
        features = embedding.features[str(rank)]
        assert isinstance(features, FeatureEmbedding)
        chosen = drawn(batch, rank, seed) < share
        hidden[rank] = chosen
        discrete[rank] = discrete[rank].masked_fill(chosen[:, None], UNKNOWN)
        if features.linear is not None:
            mean = features.mean.to(continuous[rank])
            continuous[rank] = torch.where(chosen[:, None], mean, continuous[rank])
    return Masked(replace(batch, discrete=tuple(discrete), continuous=tuple(continuous)), hidden)


class MaskedFeatures(nn.Module):
    """Guesses every feature of a cell from its vector, of every rank whose cells have some."""

    def __init__(self, embedding: CellEmbedding, width: int):
        super().__init__()
        self.guesses = nn.ModuleDict()
        for rank, features in embedding.features.items():
            assert isinstance(features, FeatureEmbedding)
            outputs = sum(_sizes(features)) + _values(features)
            self.guesses[rank] = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, outputs))

    def forward(
        self,
        embedding: CellEmbedding,
        cells: Sequence[Float[Tensor, "_ width"]],
        batch: CellBatch,
        masked: Masked,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The sum of the losses of all hidden cells, and their number.

        The loss of a cell is the mean over its features: the cross-entropy of a category, and
        Huber's loss of a value in deviations of the training part. ``batch`` is the one from before
        the features were hidden; a category that training never saw counts as guessed.
        """
        totals, numbers = [], []
        for rank, chosen in masked.hidden.items():
            features = embedding.features[str(rank)]
            assert isinstance(features, FeatureEmbedding)
            guesses = self.guesses[str(rank)](cells[rank][chosen])
            each = _losses(features, guesses, batch, rank, chosen)
            totals.append(each.mean(1).sum())
            numbers.append(each.new_tensor(len(each)))
        return torch.stack(totals).sum(), torch.stack(numbers).sum()


def _losses(
    features: FeatureEmbedding,
    guesses: Float[Tensor, "hidden output"],
    batch: CellBatch,
    rank: int,
    chosen: Bool[Tensor, " cell"],
) -> Float[Tensor, "hidden feature"]:
    """Of each feature of each hidden cell."""
    sizes = _sizes(features)
    *logits, values = torch.split(guesses, [*sizes, _values(features)], dim=1)
    truth = batch.discrete[rank][chosen]
    found = []
    for column, (own, size) in enumerate(zip(logits, sizes, strict=True)):
        known = (truth[:, column] >= 0) & (truth[:, column] < size)
        target = truth[:, column].where(known, UNKNOWN)
        found.append(
            functional.cross_entropy(own, target, reduction="none", ignore_index=UNKNOWN)[:, None]
        )
    if values.shape[1]:
        wanted = (batch.continuous[rank][chosen] - features.mean) / features.deviation
        found.append(functional.huber_loss(values, wanted.to(values.dtype), reduction="none"))
    return torch.cat(found, dim=1)


def _sizes(features: FeatureEmbedding) -> list[int]:
    """The categories of each column."""
    sizes: list[int] = (features.last_row - features.first_row + 1).tolist()
    return sizes


def _values(features: FeatureEmbedding) -> int:
    return 0 if features.linear is None else features.linear.in_features
