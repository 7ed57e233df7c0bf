"""Sparse attention on a CPU, forward: one receiver after another, its weights in the cache."""

from typing import no_type_check

import numpy as np

from cellformer.attention.compiled import kernel
from cellformer.attention.cpu_rows import most_pairs, run_of_rows, score, weighted_sum
from cellformer.attention.cpu_softmax import soften
from cellformer.attention.lanes import larger, load, multiply, splat, store, zeros
from cellformer.attention.lanes_dropout import kept, pair_key


@kernel
@no_type_check
def attention_forward(
    part, parts, query, key, value, pairs, sizes, scale, dropout, lanes, output, log_sum_exp
):
    """Fills the output and, for the backward, the logarithm of each softmax's denominator."""
    begin, end = run_of_rows(pairs.offsets, part, parts)
    zero = zeros(query.data, lanes)
    heads, step = sizes.heads, len(lanes)
    most = most_pairs(pairs.offsets, begin, end)
    weights = np.empty(most * heads, query.data.dtype)  # of one receiver
    largest = np.empty(heads, query.data.dtype)
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
        soften(weights, last - first, largest, log_sum_exp, receiver * heads, heads, zero, lanes)
        if dropout.threshold:
            for pair in range(first, last):
                draw = pair_key(dropout.seed, pair)
                for head in range(0, heads, step):
                    at = (pair - first) * heads + head
                    keep = kept(draw, head, dropout.threshold, dropout.factor, zero)
                    store(weights, at, multiply(load(weights, at, zero), keep))
        cells = pairs.senders[first:last]
        weighted_sum(
            output, receiver, value, cells, weights, 0, sizes.value_width, heads, zero, lanes
        )
