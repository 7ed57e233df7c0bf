"""Launching the kernels of sparse attention on a GPU: the operator's two functions there.

Inputs of any precision are read as they are; sums are in float32, or float64 if so given. Imported
where a GPU is used only, because it needs Triton, which comes with PyTorch's CUDA builds.
"""

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from cellformer.attention.gpu.backward import (
    attention_backward_receivers,
    attention_backward_senders,
)
from cellformer.attention.gpu.forward import attention_forward
from cellformer.complexes.batches.by_sender import TransposedPairs

NUMBERS = 2048  # of a block of rows
MOST_PAIRS = 8  # loaded at a time; cells of molecules and meshes have 2 to 8 neighbors
PER_WARP = 512  # so that each thread holds 16 of them


class Blocks(NamedTuple):
    """How the work is cut. Not tuned while running: that would change the order of sums."""

    pairs: int
    columns: int
    value_columns: int
    heads: int
    warps: int

    @classmethod
    def of(cls, head_width: int, value_width: int, heads: int) -> "Blocks":
        """Pairs and heads that fit into `NUMBERS`, if possible; all sizes are powers of 2."""
        columns, value_columns, all_heads = (
            triton.next_power_of_2(max(1, size)) for size in (head_width, value_width, heads)
        )
        widest = max(columns, value_columns)
        head_block = max(1, min(all_heads, NUMBERS // widest))
        pairs = max(1, min(MOST_PAIRS, NUMBERS // (widest * head_block)))
        warps = max(1, min(8, widest * head_block * pairs // PER_WARP))
        return cls(pairs, columns, value_columns, head_block, warps)


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
    log_sum_exp = query.new_empty(query.shape[0], query.shape[2], dtype=_precise(query))
    q, k, v = _rows(query), _rows(key), _rows(value)
    _launch(
        attention_forward,
        query.shape[0],
        (q, k, v, offsets, senders, weights, bias, seed, output, log_sum_exp),
        (q.stride(0), k.stride(0), v.stride(0), *_bias_strides(bias)),
        _constants(query, value, seed, scale, dropout),
        Blocks.of(query.shape[1], value.shape[1], query.shape[2]),
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
    grads = [tensor.new_empty(tensor.shape) for tensor in (query, key, value)]
    mean_change = torch.empty_like(log_sum_exp)
    num_pairs = senders.shape[0] if bias is not None else 0
    grad_score = log_sum_exp.new_empty(num_pairs, query.shape[2])
    if sender_offsets is None or receivers is None or pairs is None:
        made = TransposedPairs.of(key.shape[0], offsets.long(), senders.long())
        sender_offsets, receivers, pairs = made.offsets, made.receivers, made.pairs
    q, k, v, o, g = (_rows(tensor) for tensor in (query, key, value, output, grad_output))
    strides = (q.stride(0), k.stride(0), v.stride(0))
    constants = _constants(query, value, seed, scale, dropout)
    blocks = Blocks.of(query.shape[1], value.shape[1], query.shape[2])
    made_here = (grads[0], grad_score, mean_change)
    _launch(
        attention_backward_receivers,
        query.shape[0],
        (q, k, v, offsets, senders, weights, bias, seed, o, log_sum_exp, g, *made_here),
        (*strides, o.stride(0), g.stride(0), *_bias_strides(bias)),
        constants,
        blocks,
    )
    transposed = (sender_offsets, receivers, pairs)
    _launch(
        attention_backward_senders,
        key.shape[0],
        (q, k, v, *transposed, weights, bias, seed, log_sum_exp, mean_change, g, *grads[1:]),
        (*strides, g.stride(0), *_bias_strides(bias)),
        constants,
        blocks,
    )
    return grads[0], grads[1], grads[2], grad_score


def _launch(
    kernel: Any,
    rows: int,
    tensors: tuple[Tensor | None, ...],
    strides: tuple[int, ...],
    constants: dict[str, Any],
    blocks: Blocks,
) -> None:
    """One program for each row and each block of heads."""
    heads = constants["HEADS"]
    if not rows or not heads:
        return
    with torch.cuda.device_of(tensors[0]):  # type: ignore[no-untyped-call]
        kernel[rows, triton.cdiv(heads, blocks.heads)](
            *tensors,
            *strides,
            **constants,
            PAIRS=blocks.pairs,
            COLUMN_BLOCK=blocks.columns,
            VALUE_BLOCK=blocks.value_columns,
            HEAD_BLOCK=blocks.heads,
            num_warps=blocks.warps,
        )


def _constants(
    query: Tensor, value: Tensor, seed: Tensor | None, scale: float, dropout: float
) -> dict[str, Any]:
    """What is compiled into a kernel. Numbers that are no whole ones would be rounded otherwise."""
    dropped = 0 if seed is None else min(round(dropout * 2**32), 2**32 - 1)
    return {
        "SCALE": scale,
        "THRESHOLD": dropped,
        "FACTOR": 1 / (1 - dropout) if dropout < 1 else 0.0,
        "HEAD_WIDTH": query.shape[1],
        "VALUE_WIDTH": value.shape[1],
        "HEADS": query.shape[2],
        "PRECISE": tl.float64 if query.dtype == torch.float64 else tl.float32,
    }


def _precise(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def _rows(tensor: Tensor) -> Tensor:
    """Without a copy where a row's numbers are adjacent, as in columns of a larger matrix."""
    _, width, heads = tensor.shape
    adjacent = (tensor.stride(1) == heads or width == 1) and (tensor.stride(2) == 1 or heads == 1)
    return tensor if adjacent else tensor.contiguous()


def _bias_strides(bias: Tensor | None) -> tuple[int, int]:
    return (0, 0) if bias is None else (bias.stride(0), bias.stride(1))
