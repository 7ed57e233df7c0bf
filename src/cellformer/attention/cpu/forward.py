"""Sparse attention on a CPU, forward: one receiver after another, its weights in the cache."""

from typing import no_type_check

import numpy as np

from cellformer.attention.cpu.compiled import kernel, part_of_kernel
from cellformer.attention.cpu.lanes.addresses import beyond, by_address, keep
from cellformer.attention.cpu.lanes.dropout import kept, pair_key
from cellformer.attention.cpu.lanes.vectors import count, load, multiply, store
from cellformer.attention.cpu.rows import (
    Cells,
    Fetched,
    cells_between,
    fetch_share,
    in_lanes,
    row_at,
    run_of_rows,
    scores,
    values_from,
)
from cellformer.attention.cpu.softmax import soften
from cellformer.attention.cpu.sums import own_sum, weighted_sum
from cellformer.attention.cpu.tiles import most_pairs


@kernel
@no_type_check
def attention_forward(part, parts, inputs, pairs, tiles, settings, results):
    """Fills the results: one part of the tiles."""
    begin, end = run_of_rows(tiles.work, part, parts)
    first, last = tiles.receiver_offsets[begin], tiles.receiver_offsets[end]
    receivers = Cells(beyond(by_address(tiles.receivers), first), last - first)
    most = most_pairs(by_address(pairs.offsets), receivers)
    weights = np.empty(most * settings.sizes.heads, inputs.query.data.dtype)  # of one receiver
    settings = in_lanes(settings, inputs.query.data)
    inputs, pairs, results = by_address(inputs), by_address(pairs), by_address(results)
    at = by_address(tiles)
    fetched = Fetched((inputs.query,), (inputs.key,), (inputs.value,), (results.output,))
    for tile in range(begin, end):
        first, last = at.receiver_offsets[tile], at.receiver_offsets[tile + 1]
        for place in range(first, last):
            if tile + 1 < end:
                fetch_share(at, tile + 1, place - first, last - first, settings.sizes, fetched)
            _attend(at.receivers[place], inputs, pairs, settings, results, by_address(weights))
    keep(weights)


@part_of_kernel
@no_type_check
def _attend(receiver, inputs, pairs, settings, results, weights):
    """One receiver, with room for its weights."""
    sizes, dropout, zero = settings.sizes, settings.dropout, settings.zero
    heads = sizes.heads
    scores(receiver, inputs, pairs, settings, weights)
    cells = cells_between(pairs.senders, pairs.offsets, receiver)
    soften(weights, cells.length, beyond(results.log_sum_exp, receiver * heads), heads, zero)
    if dropout.threshold:
        for n in range(cells.length):
            draw = pair_key(dropout.seed, pairs.offsets[receiver] + n)
            for head in range(0, heads, count(zero)):
                at = n * heads + head
                chance = kept(draw, head, dropout.threshold, dropout.factor, zero)
                store(weights, at, multiply(load(weights, at, zero), chance))
    output = row_at(results.output, receiver)
    weighted_sum(output, inputs.value, cells, weights, sizes.value_width, heads, zero)
    if sizes.pair_width:
        output = beyond(output, sizes.value_width * heads)
        own = values_from(inputs.terms, pairs.offsets[receiver], heads)
        own_sum(output, own, cells.length, weights, sizes.pair_width, heads, zero)
