"""Sparse attention on a CPU, backward: weights are computed again, and nothing is scattered.

The gradients of keys and values are added up sender by sender, along the transposed pairs.
"""

from typing import no_type_check

import numpy as np

from cellformer.attention.compiled import kernel
from cellformer.attention.cpu_rows import dot, most_pairs, run_of_rows, score, weighted_sum
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
    grad_score,
    attention,
):
    """Fills the gradients of queries and scores, and the attention after dropout, by pair."""
    begin, end = run_of_rows(pairs.offsets, part, parts)
    zero = zeros(query.data, lanes)
    heads, step = sizes.heads, len(lanes)
    slopes = np.empty(most_pairs(pairs.offsets, begin, end) * heads, query.data.dtype)
    mean = np.empty(heads, query.data.dtype)  # of the gradients of a receiver's weights
    for receiver in range(begin, end):
        first, last = pairs.offsets[receiver], pairs.offsets[receiver + 1]
        for head in range(0, heads, step):
            i, o = receiver * grad_output.stride + head, receiver * output.stride + head
            product = dot(grad_output.data, i, output.data, o, sizes.value_width, heads, zero)
            store(mean, head, product)
        for pair in range(first, last):
            sender = pairs.senders[pair]
            factor = splat(scale * pairs.weights[pair], zero)
            draw = pair_key(dropout.seed, pair)
            for head in range(0, heads, step):
                i, j = receiver * query.stride + head, sender * key.stride + head
                at = pair * heads + head
                logit = score(query, i, key, j, factor, pairs.bias, at, sizes, zero)
                weight = exp(subtract(logit, load(log_sum_exp, receiver * heads + head, zero)))
                o, v = receiver * grad_output.stride + head, sender * value.stride + head
                change = dot(grad_output.data, o, value.data, v, sizes.value_width, heads, zero)
                if dropout.threshold:
                    keep = kept(draw, head, dropout.threshold, dropout.factor, zero)
                    change = multiply(change, keep)
                    store(attention, at, multiply(weight, keep))
                else:
                    store(attention, at, weight)
                slope = multiply(weight, subtract(change, load(mean, head, zero)))
                store(grad_score, at, slope)
                store(slopes, at - first * heads, multiply(factor, slope))
        cells = pairs.senders[first:last]
        weighted_sum(
            grad_query, receiver, key, cells, slopes, 0, sizes.head_width, heads, zero, lanes
        )


@kernel
@no_type_check
def attention_backward_senders(
    part,
    parts,
    query,
    weights,
    transposed,
    sizes,
    scale,
    lanes,
    grad_output,
    grad_score,
    attention,
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
            factor = splat(scale * weights[pair], zero)
            for head in range(0, heads, step):
                at, to = pair * heads + head, (place - first) * heads + head
                store(slopes, to, multiply(factor, load(grad_score, at, zero)))
                store(shares, to, load(attention, at, zero))
        cells = transposed.receivers[first:last]
        weighted_sum(
            grad_key, sender, query, cells, slopes, 0, sizes.head_width, heads, zero, lanes
        )
        weighted_sum(
            grad_value, sender, grad_output, cells, shares, 0, sizes.value_width, heads, zero, lanes
        )
