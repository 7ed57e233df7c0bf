"""The fused attention of the CPU as an operator of PyTorch's: autograd and torch.compile know it.

Not differentiable twice.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from cellformer.attention.compiled import run
from cellformer.attention.cpu_backward import (
    attention_backward_receivers,
    attention_backward_senders,
)
from cellformer.attention.cpu_forward import attention_forward
from cellformer.attention.cpu_rows import Dropout, Pairs, Rows, Sizes, TransposedPairs
from cellformer.complexes import transposed as transposition
from cellformer.complexes.neighborhood import Neighborhood

MOST_LANES = 8  # 16 were no faster with AVX-512; 8 numbers of float32 fill a register of AVX2


def fused_sparse_attention(
    query: Float[Tensor, "receiver head_width head"],
    key: Float[Tensor, "sender head_width head"],
    value: Float[Tensor, "sender value_width head"],
    neighborhood: Neighborhood,
    *,
    bias: Float[Tensor, "pair head_or_1"] | None = None,
    scale: float = 1.0,
    dropout: float = 0.0,
) -> Float[Tensor, "receiver value_width head"]:
    """What `sparse_attention` computes, in one pass over the pairs, with the same precision.

    Dropout follows ``torch.manual_seed``, but draws other numbers than the reference. Memory
    beyond the results: 1 number per receiver and head, in the backward 2 per pair and head.

    Raises ValueError if ``dropout`` is not between 0 and 1.
    """
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout must be between 0 and 1, got {dropout}")
    precise = torch.promote_types(query.dtype, torch.float32)
    if bias is not None:
        bias = bias.to(precise).expand(-1, query.shape[2])
    differentiable = [t for t in (query, key, value, bias) if t is not None]
    backward = torch.is_grad_enabled() and any(t.requires_grad for t in differentiable)
    # While compiling, the backward transposes: torch.compile cannot trace cached properties.
    cached = backward and not torch.compiler.is_compiling()
    transposed = neighborhood.transposed if cached else None
    output, _ = _forward(
        query.to(precise),
        key.to(precise),
        value.to(precise),
        neighborhood.offsets,
        neighborhood.senders,
        neighborhood.weights,
        transposed and transposed.offsets,
        transposed and transposed.receivers,
        transposed and transposed.pairs,
        bias,
        torch.randint(2**63 - 1, (1,)) if dropout > 0 else None,
        scale,
        dropout,
    )
    result: Tensor = output.to(value.dtype)
    return result


@torch.library.custom_op("cellformer::sparse_attention", mutates_args=(), device_types="cpu")
def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offsets: Tensor,
    senders: Tensor,
    weights: Tensor,
    sender_offsets: Tensor | None,
    receivers: Tensor | None,
    pairs: Tensor | None,
    bias: Tensor | None,
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    """The output, and the logarithm of each softmax's denominator."""
    output = value.new_empty(query.shape[0], *value.shape[1:])
    log_sum_exp = query.new_empty(query.shape[0], query.shape[2])
    if query.shape[2]:
        run(
            attention_forward,
            _size(senders, query, value),
            _rows(query),
            _rows(key),
            _rows(value),
            _pairs(offsets, senders, weights, bias, query),
            _sizes(query, value),
            scale,
            _dropout(seed, dropout),
            _lanes(query),
            _flat(output),
            _flat(log_sum_exp),
        )
    return output, log_sum_exp


@_forward.register_fake
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offsets: Tensor,
    senders: Tensor,
    weights: Tensor,
    sender_offsets: Tensor | None,
    receivers: Tensor | None,
    pairs: Tensor | None,
    bias: Tensor | None,
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    output = value.new_empty(query.shape[0], *value.shape[1:])
    return output, query.new_empty(query.shape[0], query.shape[2])


@torch.library.custom_op(
    "cellformer::sparse_attention_backward", mutates_args=(), device_types="cpu"
)
def _backward(
    grad_output: Tensor,
    output: Tensor,
    log_sum_exp: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offsets: Tensor,
    senders: Tensor,
    weights: Tensor,
    sender_offsets: Tensor | None,
    receivers: Tensor | None,
    pairs: Tensor | None,
    bias: Tensor | None,
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of query, key, value and scores."""
    grads = [_empty_like(tensor) for tensor in (query, key, value)]
    grad_score = query.new_empty(senders.shape[0], query.shape[2])
    attention = torch.empty_like(grad_score)
    if query.shape[2]:
        size, sizes, lanes = _size(senders, query, value), _sizes(query, value), _lanes(query)
        rows, grad_rows = _rows(query), _rows(grad_output)
        grad_query, grad_key, grad_value = (_flat(grad) for grad in grads)
        by_pair = (_flat(grad_score), _flat(attention))
        run(
            attention_backward_receivers,
            size,
            rows,
            _rows(key),
            _rows(value),
            _pairs(offsets, senders, weights, bias, query),
            sizes,
            scale,
            _dropout(seed, dropout),
            lanes,
            _flat(output),
            _flat(log_sum_exp),
            grad_rows,
            grad_query,
            *by_pair,
        )
        run(
            attention_backward_senders,
            size,
            rows,
            weights.detach().numpy(),
            _transposed(sender_offsets, receivers, pairs, offsets, senders, len(key)),
            sizes,
            scale,
            lanes,
            grad_rows,
            *by_pair,
            grad_key,
            grad_value,
        )
    return grads[0], grads[1], grads[2], grad_score


@_backward.register_fake
def _(
    grad_output: Tensor,
    output: Tensor,
    log_sum_exp: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    offsets: Tensor,
    senders: Tensor,
    weights: Tensor,
    sender_offsets: Tensor | None,
    receivers: Tensor | None,
    pairs: Tensor | None,
    bias: Tensor | None,
    seed: Tensor | None,
    scale: float,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad_query, grad_key, grad_value = (_empty_like(tensor) for tensor in (query, key, value))
    return grad_query, grad_key, grad_value, query.new_empty(senders.shape[0], query.shape[2])


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, scale, dropout = inputs
    ctx.save_for_backward(*output, *tensors)
    ctx.mark_non_differentiable(output[1])
    ctx.scale, ctx.dropout, ctx.has_bias = scale, dropout, tensors[-2] is not None


def _differentiate(ctx: Any, grad_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    *grads, grad_score = _backward(grad_output, *ctx.saved_tensors, ctx.scale, ctx.dropout)
    no_grads = (None,) * 6
    return *grads, *no_grads, grad_score if ctx.has_bias else None, None, None, None


_forward.register_autograd(_differentiate, setup_context=_save)


def _empty_like(tensor: Tensor) -> Tensor:
    return tensor.new_empty(tensor.shape)


def _flat(tensor: Tensor) -> NDArray[Any]:
    """The numbers of a tensor, without a copy where it is contiguous."""
    # Not flatten(): of a broadcast tensor it makes a view that is not contiguous.
    array: NDArray[Any] = tensor.detach().contiguous().view(-1).numpy()
    return array


def _rows(tensor: Tensor) -> Rows:
    """Without a copy where a row's numbers are adjacent, as in columns of a larger matrix."""
    count, width, heads = tensor.shape
    stride = tensor.stride(0)
    if not count or not width or tensor.stride()[1:] != (heads, 1) or stride < width * heads:
        return Rows(_flat(tensor), width * heads)
    flat = tensor.detach().as_strided(((count - 1) * stride + width * heads,), (1,))
    return Rows(flat.numpy(), stride)


def _pairs(
    offsets: Tensor, senders: Tensor, weights: Tensor, bias: Tensor | None, query: Tensor
) -> Pairs:
    biases = query.new_empty(0) if bias is None else bias
    return Pairs(offsets.numpy(), senders.numpy(), weights.detach().numpy(), _flat(biases))


def _size(senders: Tensor, query: Tensor, value: Tensor) -> int:
    """About how many numbers are read."""
    return len(senders) * query.shape[2] * (query.shape[1] + value.shape[1])


def _transposed(
    sender_offsets: Tensor | None,
    receivers: Tensor | None,
    pairs: Tensor | None,
    offsets: Tensor,
    senders: Tensor,
    num_senders: int,
) -> TransposedPairs:
    if sender_offsets is None or receivers is None or pairs is None:
        made = transposition.TransposedPairs.of(num_senders, offsets.long(), senders.long())
        sender_offsets, receivers, pairs = made.offsets, made.receivers, made.pairs
    return TransposedPairs(sender_offsets.numpy(), receivers.numpy(), pairs.numpy())


def _sizes(query: Tensor, value: Tensor) -> Sizes:
    return Sizes(query.shape[1], value.shape[1], query.shape[2])


def _dropout(seed: Tensor | None, dropout: float) -> Dropout:
    if seed is None:
        return Dropout(0, np.uint32(0), 1.0)
    factor = 1 / (1 - dropout) if dropout < 1 else 0.0
    return Dropout(int(seed), np.uint32(min(round(dropout * 2**32), 2**32 - 1)), factor)


def _lanes(query: Tensor) -> tuple[int, ...]:
    """As long as the largest power of 2 that divides the number of heads, up to `MOST_LANES`."""
    heads = query.shape[2]
    return (0,) * min(heads & -heads, MOST_LANES)
