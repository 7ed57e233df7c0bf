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
from cellformer.attention.gpu.operands import SparseOperands
from cellformer.complexes.batches.by_sender import TransposedPairs

NUMBERS = 2048  # of a block of rows
MOST_PAIRS = 8  # loaded at a time; cells of molecules and meshes have 2 to 8 neighbors
PER_WARP = 512  # so that each thread holds 16 of them


class Blocks(NamedTuple):
    """How the work is cut. Not tuned while running: that would change the order of sums."""

    pairs: int
    columns: int
    value_columns: int
    pair_columns: int
    heads: int
    warps: int

    @classmethod
    def of(cls, head_width: int, value_width: int, pair_width: int, heads: int) -> "Blocks":
        """Pairs and heads that fit into `NUMBERS`, if possible; all sizes are powers of 2."""
        columns, value_columns, pair_columns, all_heads = (
            triton.next_power_of_2(max(1, size))
            for size in (head_width, value_width, pair_width, heads)
        )
        widest = max(columns, value_columns, pair_columns)
        head_block = max(1, min(all_heads, NUMBERS // widest))
        pairs = max(1, min(MOST_PAIRS, NUMBERS // (widest * head_block)))
        warps = max(1, min(8, widest * head_block * pairs // PER_WARP))
        return cls(pairs, columns, value_columns, pair_columns, head_block, warps)


def forward(given: SparseOperands) -> tuple[Tensor, Tensor]:
    """The output, and the logarithm of each softmax's denominator."""
    given = _with_adjacent_rows(given)
    query, value = given.query, given.value
    columns = value.shape[1] + _pair_width(given)
    output = value.new_empty(query.shape[0], columns, value.shape[2])
    log_sum_exp = query.new_empty(query.shape[0], query.shape[2], dtype=_precise(query))
    _launch(
        attention_forward,
        query.shape[0],
        given,
        offsets=given.offsets,
        senders=given.senders,
        output=output,
        log_sum_exp=log_sum_exp,
    )
    return output, log_sum_exp


def backward(
    grad_output: Tensor, output: Tensor, log_sum_exp: Tensor, given: SparseOperands
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of query, key, value and, where they are given, of bias and pair values."""
    given = _with_adjacent_rows(given)
    grad_query, grad_key, grad_value = (
        tensor.new_empty(tensor.shape) for tensor in (given.query, given.key, given.value)
    )
    mean_change = torch.empty_like(log_sum_exp)
    num_pairs = given.senders.shape[0] if given.bias is not None else 0
    grad_score = log_sum_exp.new_empty(num_pairs, given.query.shape[2])
    pair_value = given.query.new_empty(0) if given.pair_value is None else given.pair_value
    grad_pair = log_sum_exp.new_empty(pair_value.shape)
    transposed = _transposed(given)
    output, grad_output = _rows(output), _rows(grad_output)
    shared = {
        "log_sum_exp": log_sum_exp,
        "grad_output": grad_output,
        "mean_change": mean_change,
        "grad_stride": grad_output.stride(0),
    }
    _launch(
        attention_backward_receivers,
        given.query.shape[0],
        given,
        offsets=given.offsets,
        senders=given.senders,
        output=output,
        output_stride=output.stride(0),
        grad_query=grad_query,
        grad_score=grad_score,
        grad_pair=grad_pair,
        **shared,
    )
    _launch(
        attention_backward_senders,
        given.key.shape[0],
        given,
        offsets=transposed.offsets,
        receivers=transposed.receivers,
        numbers=transposed.pairs,
        grad_key=grad_key,
        grad_value=grad_value,
        **shared,
    )
    return grad_query, grad_key, grad_value, grad_score, grad_pair


def _transposed(given: SparseOperands) -> TransposedPairs:
    offsets, receivers = given.transposed_offsets, given.transposed_receivers
    pairs = given.transposed_pairs
    if offsets is None or receivers is None or pairs is None:
        num_senders = given.key.shape[0]
        return TransposedPairs.of(num_senders, given.offsets.long(), given.senders.long())
    return TransposedPairs(offsets, receivers, pairs)


def _launch(kernel: Any, rows: int, given: SparseOperands, **others: Any) -> None:
    """One program for each row and each block of heads; a kernel's own arguments are ``others``."""
    _, head_width, heads = given.query.shape
    if not rows or not heads:
        return
    blocks = Blocks.of(head_width, given.value.shape[1], _pair_width(given), heads)
    with torch.cuda.device_of(given.query):  # type: ignore[no-untyped-call]
        kernel[rows, triton.cdiv(heads, blocks.heads)](
            **_read_by_all(given),
            **others,
            **_constants(given),
            PAIRS=blocks.pairs,
            COLUMN_BLOCK=blocks.columns,
            VALUE_BLOCK=blocks.value_columns,
            PAIR_BLOCK=blocks.pair_columns,
            HEAD_BLOCK=blocks.heads,
            num_warps=blocks.warps,
        )


def _read_by_all(given: SparseOperands) -> dict[str, Any]:
    """The arguments that all three kernels take."""
    bias_stride, bias_head_stride = (0, 0) if given.bias is None else given.bias.stride()
    return {
        "query": given.query,
        "key": given.key,
        "value": given.value,
        "weights": given.weights,
        "bias": given.bias,
        "pair_value": given.pair_value,
        "seed": given.seed,
        "query_stride": given.query.stride(0),
        "key_stride": given.key.stride(0),
        "value_stride": given.value.stride(0),
        "bias_stride": bias_stride,
        "bias_head_stride": bias_head_stride,
        "pair_stride": 0 if given.pair_value is None else given.pair_value.stride(0),
    }


def _constants(given: SparseOperands) -> dict[str, Any]:
    """What is compiled into a kernel. Numbers that are no whole ones would be rounded otherwise."""
    dropped = 0 if given.seed is None else min(round(given.dropout * 2**32), 2**32 - 1)
    return {
        "SCALE": given.scale,
        "THRESHOLD": dropped,
        "FACTOR": 1 / (1 - given.dropout) if given.dropout < 1 else 0.0,
        "HEAD_WIDTH": given.query.shape[1],
        "VALUE_WIDTH": given.value.shape[1],
        "PAIR_WIDTH": _pair_width(given),
        "HEADS": given.query.shape[2],
        "PRECISE": tl.float64 if given.query.dtype == torch.float64 else tl.float32,
    }


def _pair_width(given: SparseOperands) -> int:
    """The columns of each head that come from the pairs, after those of the values."""
    return 0 if given.pair_value is None else given.pair_value.shape[1]


def _precise(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def _with_adjacent_rows(given: SparseOperands) -> SparseOperands:
    """The same, of which the kernels can read queries, keys, values and pair values."""
    return given._replace(
        query=_rows(given.query),
        key=_rows(given.key),
        value=_rows(given.value),
        pair_value=None if given.pair_value is None else _rows(given.pair_value),
    )


def _rows(tensor: Tensor) -> Tensor:
    """Without a copy where a row's numbers are adjacent, as in columns of a larger matrix."""
    _, width, heads = tensor.shape
    adjacent = (tensor.stride(1) == heads or width == 1) and (tensor.stride(2) == 1 or heads == 1)
    return tensor if adjacent else tensor.contiguous()
