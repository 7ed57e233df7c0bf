"""Launching the kernels of sparse attention on a CPU: the operator's two functions there."""

from typing import Any

import numpy as np
import torch
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

MOST_LANES = 8  # 16 were no faster with AVX-512; 8 numbers of float32 fill a register of AVX2


def forward(
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


def backward(
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
    """The gradients of query, key, value and, where there is a bias, of the scores."""
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
    if bias is None:
        grad_score = query.new_empty(0, query.shape[2])
    return grads[0], grads[1], grads[2], grad_score


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
