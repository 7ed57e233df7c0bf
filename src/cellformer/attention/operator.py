"""The one door to attention: every layer calls `attend`, which picks the implementation."""

from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.attention.dense_blocks import DenseBlocks
from cellformer.attention.dense_reference import dense_attention
from cellformer.attention.sparse_reference import sparse_attention
from cellformer.complexes.neighborhood import Neighborhood

Pattern: TypeAlias = Neighborhood | DenseBlocks
"""Who attends to whom: stored pairs (sparse) or all pairs within each complex (dense)."""


def attend(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    pattern: Pattern,
    *,
    theta: Float[Tensor, " theta"] | None = None,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Float[Tensor, "receiver value_width head"]:
    """Sparse attention over a `Neighborhood`, or dense attention over `DenseBlocks`.

    ``theta``, of one entry or one per head, belongs to dense attention alone, which adds
    ``theta * N`` to the scores. ``dropout`` is the share of attention weights that is dropped;
    pass 0 when not training. The softmax runs in float32 at least, also under autocast.

    Raises ValueError if the rows do not fit the pattern, or if theta is missing or too much.
    """
    if (len(query), len(key)) != (pattern.num_receivers, pattern.num_senders):
        raise ValueError(
            f"{len(query)} queries and {len(key)} keys for a pattern of "
            f"{pattern.num_receivers} receivers and {pattern.num_senders} senders"
        )
    if (theta is not None) != isinstance(pattern, DenseBlocks):
        raise ValueError("theta is needed for dense attention and has no place in sparse attention")
    with torch.autocast(query.device.type, enabled=False):
        match pattern:
            case Neighborhood():
                return sparse_attention(query, key, value, pattern, scale=scale, dropout=dropout)
            case DenseBlocks():
                assert theta is not None
                return dense_attention(
                    query, key, value, pattern, theta, scale=scale, dropout=dropout
                )
