"""Sparse attention in plain PyTorch: the oracle of every faster implementation."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from cellformer.attention.segments import gather_rows, segment_max, segment_sum
from cellformer.complexes.batches.neighborhood import Neighborhood
from cellformer.complexes.batches.runs import is_exporting, numbers_of


def sparse_attention(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    neighborhood: Neighborhood,
    *,
    bias: Float[Tensor, "pair head_or_1"] | None = None,
    pair_values: Float[Tensor, "pair pair_width head"] | None = None,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Float[Tensor, "receiver received_width head"]:
    """Each receiver averages the values of its neighbors by a softmax over its neighbors.

    A score is ``scale * <query, key>`` times the pair's weight in the neighborhood, plus
    ``bias``, which has one column for all heads or one for each. Only stored pairs take part, as
    in the authors' code (*deviation from the letter* of the formula, whose product with a dense N
    would leave the zeros of N in the softmax). A receiver without neighbors gets exactly zero.
    ``pair_values`` belong to the pairs as values do to the senders: their averages, by the same
    weights, are further columns of the result. ``dropout`` drops attention weights.

    Source: the paper, section "Pairwise cellular attention", equation of the attention from k_s
    to k_t with the Hadamard product. Everything is computed in float32, or float64 if so given.
    """
    precise = torch.promote_types(query.dtype, torch.float32)
    attention = pair_weights(
        query.to(precise), key.to(precise), neighborhood, bias=bias, scale=scale
    )
    attention = functional.dropout(attention, dropout, training=dropout > 0)
    pair_value = gather_rows(value.to(precise), neighborhood.senders)
    if pair_values is not None:
        pair_value = torch.cat([pair_value, pair_values.to(precise)], dim=1)
    return segment_sum(attention.unsqueeze(1) * pair_value, neighborhood.offsets).to(value.dtype)


def pair_weights(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    neighborhood: Neighborhood,
    *,
    bias: Float[Tensor, "pair head_or_1"] | None = None,
    scale: float = 1.0,
) -> Float[Tensor, "pair head"]:
    """The softmax over each receiver's stored pairs, in the order of the neighborhood."""
    senders, offsets = neighborhood.senders, neighborhood.offsets
    # What is kept with a neighborhood cannot be traced.
    exported = is_exporting()
    receivers = numbers_of(offsets, len(senders)) if exported else neighborhood.receivers
    pair_query = gather_rows(query, receivers)
    pair_key = gather_rows(key, senders)
    weights = (scale * neighborhood.weights.to(query.dtype)).unsqueeze(1)
    scores = (pair_query * pair_key).sum(dim=1) * weights  # pair head
    if bias is not None:
        scores = scores + bias.to(query.dtype)

    # The largest score only keeps exp from overflowing: it cancels, also in the gradient.
    largest = segment_max(scores.detach(), offsets)
    exponentials = (scores - gather_rows(largest, receivers)).exp()
    totals = segment_sum(exponentials, offsets)
    return exponentials / gather_rows(totals, receivers)
