"""Dense attention within each complex, in plain PyTorch."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn import functional

from cellformer.attention.dense.blocks import DenseBlock, DenseBlocks
from cellformer.attention.dense.memory import check_dense_memory
from cellformer.attention.segments import gather_rows


def dense_attention(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    layout: DenseBlocks,
    theta: Float[Tensor, " theta"],
    *,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Float[Tensor, "receiver value_width head"]:
    """Each receiver averages the values of all senders of its complex by a softmax over them.

    A score is ``scale * <query, key> + theta * N``; theta has one entry, or one per head. A
    receiver in a complex without senders gets exactly zero. ``dropout`` drops attention weights.

    Source: the paper, section "Pairwise cellular attention", equation of the attention from k_s
    to k_t with the sum. Everything is computed in float32, or float64 if so given. Raises
    `DenseMemoryError` where N and the scores of all heads do not fit into memory.
    """
    precise = torch.promote_types(query.dtype, torch.float32)
    q, k, v, theta = (tensor.to(precise) for tensor in (query, key, value, theta))
    check_dense_memory(layout.receivers.counts, layout.senders.counts, 1 + q.shape[2])
    output = v.new_zeros(len(q), *v.shape[1:])
    if not layout.blocks:
        return output.to(value.dtype)
    rows = [_attend_block(q, k, v, block, theta, scale, dropout) for block in layout.blocks]
    cells = [block.receivers.flatten()[block.filled] for block in layout.blocks]
    return output.index_copy(0, torch.cat(cells), torch.cat(rows)).to(value.dtype)


def _attend_block(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    block: DenseBlock,
    theta: Float[Tensor, " theta"],
    scale: float,
    dropout: float,
) -> Float[Tensor, "block_receiver value_width head"]:
    """The outputs of one block's receivers, in the order of ``block.filled``."""
    attention = block_weights(query, key, block, theta, scale)
    attention = functional.dropout(attention, dropout, training=dropout > 0)
    v = _fill_slots(value, block.senders, block.has_sender)
    output = torch.einsum("chrs,csvh->crvh", attention, v)
    return output.flatten(0, 1).index_select(0, block.filled)


def block_weights(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    block: DenseBlock,
    theta: Float[Tensor, " theta"],
    scale: float,
) -> Float[Tensor, "complex head receiver_slot sender_slot"]:
    """The softmax over the senders of each complex; zero at empty slots of senders."""
    # Empty slots become zeros before anything is multiplied: 0 * NaN would still be NaN.
    q = _fill_slots(query, block.receivers, block.has_receiver)
    k = _fill_slots(key, block.senders, block.has_sender)
    scores = scale * torch.einsum("crph,csph->chrs", q, k)
    scores = scores + theta[:, None, None] * block.weights.to(scores.dtype).unsqueeze(1)
    scores = scores.masked_fill(~block.has_sender[:, None, None, :], float("-inf"))
    return scores.softmax(dim=-1)


def _fill_slots(
    rows: Float[Tensor, "cell column head"],
    cells: Int64[Tensor, "complex slot"],
    filled: Bool[Tensor, "complex slot"],
) -> Float[Tensor, "complex slot column head"]:
    return gather_rows(rows, cells).masked_fill(~filled[:, :, None, None], 0)
