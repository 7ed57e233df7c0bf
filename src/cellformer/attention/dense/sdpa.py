"""Dense attention within each complex by PyTorch's scaled_dot_product_attention, for a GPU."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from cellformer.attention.dense.blocks import DenseBlock, DenseBlocks
from cellformer.attention.dense.memory import check_dense_memory

ALIGNMENT = 8  # the fused backends want rows of whole multiples of 16 bytes


def dense_sdpa_attention(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    layout: DenseBlocks,
    theta: Float[Tensor, " theta"],
    *,
    scale: float = 1.0,
    dropout: float = 0.0,
    backends: Sequence[SDPBackend] = (SDPBackend.MATH,),
) -> Float[Tensor, "receiver value_width head"]:
    """What `dense_attention` computes, one call of PyTorch's attention per block.

    The default backend is the one that is always deterministic and takes any width, in half
    precision too, where its sums are in float32. ``SDPBackend.EFFICIENT_ATTENTION`` is one kernel
    instead of several and knows the gradient of ``theta * N`` too, but its gradients of the
    queries can differ in the last bit between runs unless `torch.use_deterministic_algorithms` is
    on; flash attention takes no bias. Dropout follows ``torch.manual_seed``.

    Raises `DenseMemoryError` where N and the scores of all heads do not fit into memory.
    """
    precise = query.dtype
    q, k, v = (_heads_first(rows.to(precise)) for rows in (query, key, value))
    _, width, heads = value.shape
    check_dense_memory(layout.receivers.counts, layout.senders.counts, 1 + heads)
    output = v.new_zeros(len(query), heads, width)
    if layout.blocks:
        with sdpa_kernel(list(backends)):
            rows = [
                _attend_block(q, k, v, block, theta.to(precise), scale, dropout)
                for block in layout.blocks
            ]
        cells = [block.receivers.flatten()[block.filled] for block in layout.blocks]
        output = output.index_copy(0, torch.cat(cells), torch.cat(rows)[:, :, :width])
    return output.transpose(1, 2).to(value.dtype)


def _heads_first(
    rows: Float[Tensor, "cell column head"],
) -> Float[Tensor, "cell head padded_column"]:
    return functional.pad(rows.transpose(1, 2), (0, -rows.shape[1] % ALIGNMENT)).contiguous()


def _attend_block(
    query: Float[Tensor, "receiver head column"],
    key: Float[Tensor, "sender head column"],
    value: Float[Tensor, "sender head value_column"],
    block: DenseBlock,
    theta: Float[Tensor, " theta"],
    scale: float,
    dropout: float,
) -> Float[Tensor, "block_receiver head value_column"]:
    """The outputs of one block's receivers, in the order of ``block.filled``."""
    q = _fill_slots(query, block.receivers, block.has_receiver)
    k = _fill_slots(key, block.senders, block.has_sender)
    v = _fill_slots(value, block.senders, block.has_sender)
    bias = theta[:, None, None] * block.weights.to(theta.dtype).unsqueeze(1)
    bias = bias.masked_fill(~block.has_sender[:, None, None, :], float("-inf"))
    output = functional.scaled_dot_product_attention(
        q, k, v, attn_mask=bias, dropout_p=dropout, scale=scale
    )
    return output.transpose(1, 2).flatten(0, 1).index_select(0, block.filled)


def _fill_slots(
    rows: Float[Tensor, "cell head column"],
    cells: Int64[Tensor, "complex slot"],
    filled: Bool[Tensor, "complex slot"],
) -> Float[Tensor, "complex head slot column"]:
    """Zero in empty slots: 0 * NaN would still be NaN.

    In the backward each cell gets the gradient of its one slot, and zeros, in any order.
    """
    gathered = rows.index_select(0, cells.flatten()).view(*cells.shape, *rows.shape[1:])
    return gathered.masked_fill(~filled[:, :, None, None], 0).transpose(1, 2)
