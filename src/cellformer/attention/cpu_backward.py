"""Sparse attention on a CPU, backward: weights are computed again, and nothing is scattered.

The gradients of keys and values are added up sender by sender, along the transposed pairs.
"""

from typing import no_type_check

import numpy as np

from cellformer.attention.compiled import kernel
from cellformer.attention.cpu_rows import (
    dot,
    most_pairs,
    products,
    run_of_rows,
    scores,
    weighted_sum,
)
from cellformer.attention.lanes import load, multiply, splat, store, subtract, zeros
from cellformer.attention.lanes_dropout import kept, pair_key
from cellformer.attention.lanes_exp import exp


@kernel
@no_type_check
def attention_backward_receivers(
    part,
    parts,
    query,
    key,
    value,
    pairs,
    sizes,
    scale,
    dropout,
    lanes,
    output,
    log_sum_exp,
    grad_output,
    grad_query,
    grad_bias,
    by_pair,
):
    """Fills the gradients of queries and, if it has a place, of the bias; and for the senders, by
    pair, the gradients of products and the attention after dropout, side by side.
    """
    begin, end = run_of_rows(pairs.offsets, part, parts)
    zero = zeros(query.data, lanes)
    heads, step = sizes.heads, len(lanes)
    one = splat(1.0, zero)
    most = most_pairs(pairs.offsets, begin, end) * heads
    slopes, changes = np.empty(most, query.data.dtype), np.empty(most, query.data.dtype)
    for receiver in range(begin, end):
        first, last = pairs.offsets[receiver], pairs.offsets[receiver + 1]
        cells = pairs.senders[first:last]
        scores(query, receiver, key, pairs, first, last, scale, slopes, sizes, zero, lanes)
        products(
            grad_output, receiver, value, cells, one, changes, 0, sizes.value_width, heads, zero,
            lanes,
        )  # fmt: skip
        for head in range(0, heads, step):
            i, o = receiver * grad_output.stride + head, receiver * output.stride + head
            # The mean of the gradients of this receiver's weights.
            mean = dot(grad_output.data, i, output.data, o, sizes.value_width, heads, zero)
            total = load(log_sum_exp, receiver * heads + head, zero)
            for pair in range(first, last):
                side, near = 2 * pair * heads + head, (pair - first) * heads + head
                weight = exp(subtract(load(slopes, near, zero), total))
                change = load(changes, near, zero)
                if dropout.threshold:
                    draw = pair_key(dropout.seed, pair)
                    keep = kept(draw, head, dropout.threshold, dropout.factor, zero)
                    change = multiply(change, keep)
                    store(by_pair, side + heads, multiply(weight, keep))
                else:
                    store(by_pair, side + heads, weight)
                slope = multiply(weight, subtract(change, mean))
                if len(grad_bias):
                    store(grad_bias, pair * heads + head, slope)
                slope = multiply(splat(scale * pairs.weights[pair], zero), slope)
                store(by_pair, side, slope)
                store(slopes, near, slope)
        weighted_sum(
            grad_query, receiver, key, cells, slopes, 0, sizes.head_width, heads, zero, lanes
        )


@kernel
@no_type_check
def attention_backward_senders(
    part,
    parts,
    query,
    transposed,
    sizes,
    lanes,
    grad_output,
    by_pair,
    grad_key,
    grad_value,
):
    """Fills the gradients of keys and values from what the receivers' kernel filled."""
    begin, end = run_of_rows(transposed.offsets, part, parts)
    zero = zeros(query.data, lanes)
    heads, step = sizes.heads, len(lanes)
    most = most_pairs(transposed.offsets, begin, end) * heads
    slopes, shares = np.empty(most, query.data.dtype), np.empty(most, query.data.dtype)
    for sender in range(begin, end):
        first, last = transposed.offsets[sender], transposed.offsets[sender + 1]
        for place in range(first, last):
            pair = transposed.pairs[place]
            for head in range(0, heads, step):
                side, to = 2 * pair * heads + head, (place - first) * heads + head
                store(slopes, to, load(by_pair, side, zero))
                store(shares, to, load(by_pair, side + heads, zero))
        cells = transposed.receivers[first:last]
        weighted_sum(
            grad_key, sender, query, cells, slopes, 0, sizes.head_width, heads, zero, lanes
        )
        weighted_sum(
            grad_value, sender, grad_output, cells, shares, 0, sizes.value_width, heads, zero, lanes
        )
