"""Sparse attention on a CPU, forward: one receiver after another, its weights in the cache."""

from typing import no_type_check

import numpy as np

from cellformer.attention.cpu.compiled import kernel, part_of_kernel
from cellformer.attention.cpu.lanes.dropout import kept, pair_key
from cellformer.attention.cpu.lanes.vectors import (
    address,
    beyond,
    count,
    keep,
    load,
    multiply,
    store,
    zeros,
)
from cellformer.attention.cpu.rows import (
    Cells,
    at_pairs,
    at_rows,
    cells_between,
    fetch_share,
    run_of_rows,
    scores,
)
from cellformer.attention.cpu.softmax import soften
from cellformer.attention.cpu.sums import weighted_sum
from cellformer.attention.cpu.tiles import at_tiles, most_pairs


@kernel
@no_type_check
def attention_forward(
    part, parts, query, key, value, pairs, tiles, sizes, scale, dropout, lanes, output, log_sum_exp
):
    """Fills the output and, for the backward, the logarithm of each softmax's denominator."""
    begin, end = run_of_rows(tiles.work, part, parts)
    first, last = tiles.receiver_offsets[begin], tiles.receiver_offsets[end]
    receivers = Cells(beyond(address(tiles.receivers), first), last - first)
    most = most_pairs(address(pairs.offsets), receivers)
    weights = np.empty(most * sizes.heads, query.data.dtype)  # of one receiver
    zero = zeros(query.data, lanes)
    at = at_tiles(tiles)
    for tile in range(begin, end):
        first, last = at.receiver_offsets[tile], at.receiver_offsets[tile + 1]
        for place in range(first, last):
            if tile + 1 < end:
                fetch_share(
                    at, tile + 1, place - first, last - first, sizes, (at_rows(key),),
                    (at_rows(value),), (at_rows(query),), (at_rows(output),),
                )  # fmt: skip
            _attend(
                at.receivers[place], at_rows(query), at_rows(key), at_rows(value), at_pairs(pairs),
                sizes, scale, dropout, zero, at_rows(output), address(log_sum_exp),
                address(weights),
            )  # fmt: skip
    keep(weights)


@part_of_kernel
@no_type_check
def _attend(
    receiver, query, key, value, pairs, sizes, scale, dropout, zero, output, log_sum_exp, weights
):
    heads, step = sizes.heads, count(zero)
    scores(query, receiver, key, pairs, scale, weights, sizes, zero)
    cells = cells_between(pairs.senders, pairs.offsets, receiver)
    soften(weights, cells.length, log_sum_exp, receiver * heads, heads, zero)
    if dropout.threshold:
        for n in range(cells.length):
            draw = pair_key(dropout.seed, pairs.offsets[receiver] + n)
            for head in range(0, heads, step):
                at = n * heads + head
                chance = kept(draw, head, dropout.threshold, dropout.factor, zero)
                store(weights, at, multiply(load(weights, at, zero), chance))
    weighted_sum(output, receiver, value, cells, weights, 0, sizes.value_width, heads, zero)
