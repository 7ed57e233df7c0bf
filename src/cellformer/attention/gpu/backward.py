"""Sparse attention on a GPU, backward: weights are computed again, and nothing is scattered.

One kernel goes through the pairs of each receiver, the other through those of each sender, so
that no two programs add to the same number. Nothing is stored per pair but the gradients of what
belongs to the pairs.
"""

from typing import no_type_check

import triton
import triton.language as tl

from cellformer.attention.gpu.dropout import kept
from cellformer.attention.gpu.rows import load_heads, load_rows, scores, store_heads, store_rows


@triton.jit
@no_type_check
def attention_backward_receivers(
    query,
    key,
    value,
    offsets,
    senders,
    weights,
    bias,
    pair_value,
    seed,
    output,
    log_sum_exp,
    grad_output,
    grad_query,
    grad_score,
    grad_pair,
    mean_change,
    query_stride,
    key_stride,
    value_stride,
    output_stride,
    grad_stride,
    bias_stride,
    bias_head_stride,
    pair_stride,
    SCALE: tl.constexpr,
    THRESHOLD: tl.constexpr,
    FACTOR: tl.constexpr,
    HEAD_WIDTH: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    PAIR_WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    PAIRS: tl.constexpr,
    COLUMN_BLOCK: tl.constexpr,
    VALUE_BLOCK: tl.constexpr,
    PAIR_BLOCK: tl.constexpr,
    HEAD_BLOCK: tl.constexpr,
    PRECISE: tl.constexpr,
):
    """Fills the gradients of queries, scores and pair values, and the mean of the weights'."""
    receiver = tl.program_id(0).to(tl.int64)
    cell = receiver + tl.arange(0, 1)
    heads = tl.program_id(1) * HEAD_BLOCK + tl.arange(0, HEAD_BLOCK)
    first = tl.load(offsets + receiver).to(tl.int64)
    last = tl.load(offsets + receiver + 1).to(tl.int64)
    here = cell >= 0
    q = load_rows(query, cell, query_stride, heads, here, HEAD_WIDTH, HEADS, COLUMN_BLOCK, PRECISE)
    o = load_rows(
        output, cell, output_stride, heads, here, VALUE_WIDTH, HEADS, VALUE_BLOCK, PRECISE
    )
    g = load_rows(
        grad_output, cell, grad_stride, heads, here, VALUE_WIDTH, HEADS, VALUE_BLOCK, PRECISE
    )
    mean = tl.sum(g * o, axis=1)
    if pair_value is not None:
        place = output + VALUE_WIDTH * HEADS  # of the columns of the pairs
        o = load_rows(
            place, cell, output_stride, heads, here, PAIR_WIDTH, HEADS, PAIR_BLOCK, PRECISE
        )
        place = grad_output + VALUE_WIDTH * HEADS
        from_pairs = load_rows(
            place, cell, grad_stride, heads, here, PAIR_WIDTH, HEADS, PAIR_BLOCK, PRECISE
        )
        mean += tl.sum(from_pairs * o, axis=1)
    store_heads(mean_change, cell, heads, here, mean, HEADS)
    denominator = load_heads(log_sum_exp, cell, heads, here, HEADS)
    result = tl.zeros((1, COLUMN_BLOCK, HEAD_BLOCK), PRECISE)
    for start in range(first, last, PAIRS):
        pairs = start + tl.arange(0, PAIRS)
        valid = pairs < last
        sender = tl.load(senders + pairs, mask=valid, other=0).to(tl.int64)
        factor = tl.load(weights + pairs, mask=valid, other=0.0).to(PRECISE) * SCALE
        k = load_rows(
            key, sender, key_stride, heads, valid, HEAD_WIDTH, HEADS, COLUMN_BLOCK, PRECISE
        )
        v = load_rows(
            value, sender, value_stride, heads, valid, VALUE_WIDTH, HEADS, VALUE_BLOCK, PRECISE
        )
        score = scores(
            q, k, factor, bias, bias_stride, bias_head_stride, pairs, heads, valid, HEADS
        )
        weight = tl.exp(tl.where(valid[:, None], score, -float("inf")) - denominator)
        change = tl.sum(g * v, axis=1)
        share = weight
        if pair_value is not None:
            own = load_rows(
                pair_value, pairs, pair_stride, heads, valid, PAIR_WIDTH, HEADS, PAIR_BLOCK, PRECISE
            )
            change += tl.sum(from_pairs * own, axis=1)
        if THRESHOLD:
            keep = kept(seed, pairs, heads, THRESHOLD, FACTOR, PRECISE)
            change *= keep
            share = weight * keep
        if pair_value is not None:
            grown = share[:, None, :] * from_pairs
            width = PAIR_WIDTH * HEADS
            store_rows(grad_pair, pairs, width, heads, valid, grown, PAIR_WIDTH, HEADS, PAIR_BLOCK)
        slope = weight * (change - mean)
        if bias is not None:
            store_heads(grad_score, pairs, heads, valid, slope, HEADS)
        slope *= factor[:, None]
        result += tl.sum(slope[:, None, :] * k, axis=0, keep_dims=True)
    width = HEAD_WIDTH * HEADS
    store_rows(grad_query, cell, width, heads, here, result, HEAD_WIDTH, HEADS, COLUMN_BLOCK)


@triton.jit
@no_type_check
def attention_backward_senders(
    query,
    key,
    value,
    offsets,
    receivers,
    numbers,
    weights,
    bias,
    pair_value,
    seed,
    log_sum_exp,
    mean_change,
    grad_output,
    grad_key,
    grad_value,
    query_stride,
    key_stride,
    value_stride,
    grad_stride,
    bias_stride,
    bias_head_stride,
    pair_stride,
    SCALE: tl.constexpr,
    THRESHOLD: tl.constexpr,
    FACTOR: tl.constexpr,
    HEAD_WIDTH: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    PAIR_WIDTH: tl.constexpr,
    HEADS: tl.constexpr,
    PAIRS: tl.constexpr,
    COLUMN_BLOCK: tl.constexpr,
    VALUE_BLOCK: tl.constexpr,
    PAIR_BLOCK: tl.constexpr,
    HEAD_BLOCK: tl.constexpr,
    PRECISE: tl.constexpr,
):
    """Fills the gradients of keys and values, along the transposed pairs."""
    sender = tl.program_id(0).to(tl.int64)
    cell = sender + tl.arange(0, 1)
    heads = tl.program_id(1) * HEAD_BLOCK + tl.arange(0, HEAD_BLOCK)
    first = tl.load(offsets + sender).to(tl.int64)
    last = tl.load(offsets + sender + 1).to(tl.int64)
    here = cell >= 0
    k = load_rows(key, cell, key_stride, heads, here, HEAD_WIDTH, HEADS, COLUMN_BLOCK, PRECISE)
    v = load_rows(value, cell, value_stride, heads, here, VALUE_WIDTH, HEADS, VALUE_BLOCK, PRECISE)
    for_key = tl.zeros((1, COLUMN_BLOCK, HEAD_BLOCK), PRECISE)
    for_value = tl.zeros((1, VALUE_BLOCK, HEAD_BLOCK), PRECISE)
    for start in range(first, last, PAIRS):
        places = start + tl.arange(0, PAIRS)
        valid = places < last
        receiver = tl.load(receivers + places, mask=valid, other=0).to(tl.int64)
        pairs = tl.load(numbers + places, mask=valid, other=0).to(tl.int64)
        factor = tl.load(weights + pairs, mask=valid, other=0.0).to(PRECISE) * SCALE
        q = load_rows(
            query, receiver, query_stride, heads, valid, HEAD_WIDTH, HEADS, COLUMN_BLOCK, PRECISE
        )
        g = load_rows(
            grad_output,
            receiver,
            grad_stride,
            heads,
            valid,
            VALUE_WIDTH,
            HEADS,
            VALUE_BLOCK,
            PRECISE,
        )
        score = scores(
            q, k, factor, bias, bias_stride, bias_head_stride, pairs, heads, valid, HEADS
        )
        denominator = load_heads(log_sum_exp, receiver, heads, valid, HEADS)
        weight = tl.exp(tl.where(valid[:, None], score, -float("inf")) - denominator)
        change = tl.sum(g * v, axis=1)
        if pair_value is not None:
            place = grad_output + VALUE_WIDTH * HEADS  # of the columns of the pairs
            from_pairs = load_rows(
                place, receiver, grad_stride, heads, valid, PAIR_WIDTH, HEADS, PAIR_BLOCK, PRECISE
            )
            own = load_rows(
                pair_value, pairs, pair_stride, heads, valid, PAIR_WIDTH, HEADS, PAIR_BLOCK, PRECISE
            )
            change += tl.sum(from_pairs * own, axis=1)
        share = weight
        if THRESHOLD:
            keep = kept(seed, pairs, heads, THRESHOLD, FACTOR, PRECISE)
            change *= keep
            share = weight * keep
        mean = load_heads(mean_change, receiver, heads, valid, HEADS)
        slope = weight * (change - mean) * factor[:, None]
        for_key += tl.sum(slope[:, None, :] * q, axis=0, keep_dims=True)
        for_value += tl.sum(share[:, None, :] * g, axis=0, keep_dims=True)
    here = cell >= 0
    width = HEAD_WIDTH * HEADS
    store_rows(grad_key, cell, width, heads, here, for_key, HEAD_WIDTH, HEADS, COLUMN_BLOCK)
    width = VALUE_WIDTH * HEADS
    store_rows(grad_value, cell, width, heads, here, for_value, VALUE_WIDTH, HEADS, VALUE_BLOCK)
