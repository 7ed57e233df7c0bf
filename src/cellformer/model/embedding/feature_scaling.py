"""Continuous features brought to mean 0 and deviation 1.

*Not in the paper*, whose data have no continuous features: coordinates, lengths and charges come in
all units, and a model would have to learn their scale before it could tell cells apart.
"""

import numpy as np
import torch
from jaxtyping import Int64
from torch import nn

from cellformer.complexes.many.ragged import RaggedComplexes, ranges
from cellformer.model.embedding.embedding import FeatureEmbedding
from cellformer.model.embedding.signed_embedding import SignedEmbedding


def standardize_features(
    model: nn.Module, complexes: RaggedComplexes, chosen: Int64[np.ndarray, " chosen"]
) -> None:
    """Has a model see features in units of their deviation over the cells of these complexes.

    Choose the complexes to train on. Mean and deviation become part of the model's weights; a
    column that does not vary is only moved. Features that flip with the orientation of a cell have
    no mean, and are seen in units of the root of their mean square.
    """
    for name, embedding in model.named_modules():
        if isinstance(embedding, SignedEmbedding):
            _scale_fields(embedding, complexes, chosen)
        if not isinstance(embedding, FeatureEmbedding) or embedding.linear is None:
            continue
        rank = complexes.ranks[int(name.rpartition(".")[2])]
        rows, _ = ranges(rank.offsets[chosen], rank.offsets[chosen + 1])
        values = np.asarray(rank.continuous[rows], np.float64)
        if not len(values):
            continue
        deviation = values.std(axis=0)
        flat = deviation <= 1e-6 * np.abs(values).max(axis=0)  # rounding apart, it does not vary
        embedding.mean.copy_(torch.from_numpy(values.mean(axis=0)))
        embedding.deviation.copy_(torch.from_numpy(np.where(flat, 1.0, deviation)))


def _scale_fields(
    embedding: SignedEmbedding, complexes: RaggedComplexes, chosen: Int64[np.ndarray, " chosen"]
) -> None:
    for number, rank in enumerate(complexes.ranks):
        rows, _ = ranges(rank.offsets[chosen], rank.offsets[chosen + 1])
        values = np.asarray(rank.signed[rows], np.float64)
        if values.size:
            root = np.sqrt(np.square(values).mean(axis=0))
            scale = torch.from_numpy(np.where(root > 0, root, 1.0))
            embedding.get_buffer(f"scale_{number}").copy_(scale)
