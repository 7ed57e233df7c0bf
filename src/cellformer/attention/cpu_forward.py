"""Sparse attention on a CPU, forward: one receiver after another, its weights in the cache."""

from typing import no_type_check

import numpy as np

from cellformer.attention.compiled import kernel
from cellformer.attention.cpu_rows import most_pairs, run_of_rows, scores, weighted_sum
from cellformer.attention.cpu_softmax import soften
from cellformer.attention.lanes import load, multiply, store, zeros
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
    for receiver in range(begin, end):
        first, last = pairs.offsets[receiver], pairs.offsets[receiver + 1]
        scores(query, receiver, key, pairs, first, last, scale, weights, sizes, zero, lanes)
        soften(weights, last - first, log_sum_exp, receiver * heads, heads, zero, lanes)
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
