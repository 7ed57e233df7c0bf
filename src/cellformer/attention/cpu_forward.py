"""Sparse attention on a CPU, forward: one receiver after another, its weights in the cache."""

from typing import no_type_check

import numpy as np

from cellformer.attention.compiled import kernel
from cellformer.attention.cpu_rows import most_pairs, run_of_rows, score, weighted_sum
from cellformer.attention.lanes import (
    add,
    divide,
    larger,
    load,
    log,
    multiply,
    splat,
    store,
    subtract,
    zeros,
)
from cellformer.attention.lanes_dropout import kept, pair_key
from cellformer.attention.lanes_exp import exp


@kernel
@no_type_check
def attention_forward(
    part, parts, query, key, value, pairs, sizes, scale, dropout, lanes, output, log_sum_exp
):
    """Fills the output and, for the backward, the logarithm of each softmax's denominator."""
    begin, end = run_of_rows(pairs.offsets, part, parts)
    zero = zeros(query.data, lanes)
    one = splat(1.0, zero)
    heads, step = sizes.heads, len(lanes)
    most = most_pairs(pairs.offsets, begin, end)
    weights = np.empty(most * heads, query.data.dtype)  # of one receiver
    largest = np.empty(heads, query.data.dtype)
    reciprocal = np.empty(heads, query.data.dtype)
    for receiver in range(begin, end):
        first, last = pairs.offsets[receiver], pairs.offsets[receiver + 1]
        largest[:] = -np.inf
        for pair in range(first, last):
            sender = pairs.senders[pair]
            factor = splat(scale * pairs.weights[pair], zero)
            for head in range(0, heads, step):
                i, j = receiver * query.stride + head, sender * key.stride + head
                at = pair * heads + head
                logit = score(query, i, key, j, factor, pairs.bias, at, sizes, zero)
                store(weights, at - first * heads, logit)
                store(largest, head, larger(logit, load(largest, head, zero)))
        for head in range(0, heads, step):
            top = load(largest, head, zero)
            total = zero
            for at in range(head, (last - first) * heads, heads):
                weight = exp(subtract(load(weights, at, zero), top))
                store(weights, at, weight)
                total = add(total, weight)
            store(log_sum_exp, receiver * heads + head, add(top, log(total)))
            store(reciprocal, head, divide(one, total))
        for pair in range(first, last):
            draw = pair_key(dropout.seed, pair)
            for head in range(0, heads, step):
                at = (pair - first) * heads + head
                weight = multiply(load(weights, at, zero), load(reciprocal, head, zero))
                if dropout.threshold:
                    keep = kept(draw, head, dropout.threshold, dropout.factor, zero)
                    weight = multiply(weight, keep)
                store(weights, at, weight)
        cells = pairs.senders[first:last]
        weighted_sum(output, receiver, value, cells, weights, sizes.value_width, heads, zero, lanes)
