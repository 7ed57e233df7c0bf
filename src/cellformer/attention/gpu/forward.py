"""Sparse attention on a GPU, forward: one program per receiver, a few of its pairs at a time."""

from typing import no_type_check

import triton
import triton.language as tl

from cellformer.attention.gpu.dropout import kept
from cellformer.attention.gpu.rows import load_rows, scores, store_heads, store_rows


@triton.jit
@no_type_check
def attention_forward(
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
    query_stride,
    key_stride,
    value_stride,
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
    """Fills the output and, for the backward, the logarithm of each softmax's denominator.

    The softmax is the "online" one: sums are scaled down whenever a larger score turns up.
    """
    receiver = tl.program_id(0).to(tl.int64)
    cell = receiver + tl.arange(0, 1)
    heads = tl.program_id(1) * HEAD_BLOCK + tl.arange(0, HEAD_BLOCK)
    first = tl.load(offsets + receiver).to(tl.int64)
    last = tl.load(offsets + receiver + 1).to(tl.int64)
    q = load_rows(
        query, cell, query_stride, heads, cell >= 0, HEAD_WIDTH, HEADS, COLUMN_BLOCK, PRECISE
    )
    largest = tl.full((1, HEAD_BLOCK), -float("inf"), PRECISE)
    total = tl.zeros((1, HEAD_BLOCK), PRECISE)
    mixed = tl.zeros((1, VALUE_BLOCK, HEAD_BLOCK), PRECISE)
    mixed_pairs = tl.zeros((1, PAIR_BLOCK, HEAD_BLOCK), PRECISE)
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
        score = tl.where(valid[:, None], score, -float("inf"))
        larger = tl.maximum(largest, tl.max(score, axis=0, keep_dims=True))
        # A bias may have made all scores so far minus infinity; inf - inf is not a number.
        top = tl.where(larger == -float("inf"), 0.0, larger)
        share, shrink = tl.exp(score - top), tl.exp(largest - top)
        total = total * shrink + tl.sum(share, axis=0, keep_dims=True)
        if THRESHOLD:
            share *= kept(seed, pairs, heads, THRESHOLD, FACTOR, PRECISE)
        mixed = mixed * shrink[:, None, :] + tl.sum(share[:, None, :] * v, axis=0, keep_dims=True)
        if pair_value is not None:
            own = load_rows(
                pair_value, pairs, pair_stride, heads, valid, PAIR_WIDTH, HEADS, PAIR_BLOCK, PRECISE
            )
            mixed_pairs *= shrink[:, None, :]
            mixed_pairs += tl.sum(share[:, None, :] * own, axis=0, keep_dims=True)
        largest = larger
    if first == last:
        total += 1.0  # nothing was summed: the output is 0
    store_heads(log_sum_exp, cell, heads, cell >= 0, largest + tl.log(total), HEADS)
    here = cell >= 0
    stride = (VALUE_WIDTH + PAIR_WIDTH) * HEADS
    mixed /= total[:, None, :]
    store_rows(output, cell, stride, heads, here, mixed, VALUE_WIDTH, HEADS, VALUE_BLOCK)
    if pair_value is not None:
        mixed_pairs /= total[:, None, :]
        place = output + VALUE_WIDTH * HEADS  # of the columns of the pairs
        store_rows(place, cell, stride, heads, here, mixed_pairs, PAIR_WIDTH, HEADS, PAIR_BLOCK)
