"""The weights of attention themselves, which the fused kernels never write down."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.dense.reference import block_weights
from cellformer.attention.sparse_reference import pair_weights
from cellformer.complexes.batches.neighborhood import Neighborhood


@dataclass(frozen=True, eq=False)
class AttentionWeights:
    """How much each receiver takes from each sender; the weights of a receiver sum to 1."""

    receivers: Int64[Tensor, " pair"]
    senders: Int64[Tensor, " pair"]
    weights: Float[Tensor, "pair head"]


def attention_weights(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    pattern: Neighborhood | DenseBlocks,
    *,
    theta: Float[Tensor, " theta"] | None = None,
    bias: Float[Tensor, "pair head_or_1"] | None = None,
    scale: float = 1.0,
) -> AttentionWeights:
    """The weights by which `attend`, given the same, averages the values, without dropout.

    Computed by the readable reference, in float32 or float64.
    """
    precise = torch.promote_types(query.dtype, torch.float32)
    query, key = query.to(precise), key.to(precise)
    if isinstance(pattern, Neighborhood):
        weights = pair_weights(query, key, pattern, bias=bias, scale=scale)
        return AttentionWeights(pattern.receivers, pattern.senders, weights)
    assert theta is not None
    receivers, senders, parts = [], [], []
    for block in pattern.blocks:
        weights = block_weights(query, key, block, theta.to(precise), scale)
        filled = block.has_receiver[:, :, None] & block.has_sender[:, None, :]
        parts.append(weights.permute(0, 2, 3, 1)[filled])
        receivers.append(block.receivers[:, :, None].expand(filled.shape)[filled])
        senders.append(block.senders[:, None, :].expand(filled.shape)[filled])
    if not parts:
        none = torch.zeros(0, dtype=torch.int64, device=query.device)
        return AttentionWeights(none, none, query.new_zeros(0, query.shape[2]))
    return AttentionWeights(torch.cat(receivers), torch.cat(senders), torch.cat(parts))
