"""Sparse attention on a CPU, backward: weights are computed again, and nothing is scattered.

The gradients of keys and values are added up sender by sender, along the transposed pairs, as
soon as all receivers of a tile are done.
"""

from typing import no_type_check

import numpy as np

from cellformer.attention.cpu.compiled import kernel, part_of_kernel
from cellformer.attention.cpu.lanes.dropout import kept, pair_key
from cellformer.attention.cpu.lanes.exp import exp
from cellformer.attention.cpu.lanes.vectors import (
    address,
    beyond,
    count,
    keep,
    load,
    multiply,
    splat,
    store,
    subtract,
    zeros,
)
from cellformer.attention.cpu.rows import (
    Cells,
    PairsBySender,
    at_pairs,
    at_rows,
    cells_between,
    fetch_share,
    run_of_rows,
    scores,
)
from cellformer.attention.cpu.sums import dot, products, weighted_sum
from cellformer.attention.cpu.tiles import at_tiles, most_between, most_pairs


@kernel
@no_type_check
def attention_backward(
    part,
    parts,
    query,
    key,
    value,
    pairs,
    transposed,
    tiles,
    sizes,
    scale,
    dropout,
    lanes,
    output,
    log_sum_exp,
    grad_output,
    grad_query,
    grad_key,
    grad_value,
    grad_bias,
    by_pair,
):
    """Fills the gradients of the tiles' receivers and senders; that of the bias if it has a place.

    By pair, the receivers leave to their senders the gradients of products and the attention
    after dropout, side by side: in ``by_pair``, or where that is empty, for one tile at a time.
    """
    begin, end = run_of_rows(tiles.work, part, parts)
    heads, zero = sizes.heads, zeros(query.data, lanes)
    at = at_tiles(tiles)
    first, last = at.receiver_offsets[begin], at.receiver_offsets[end]
    receivers = Cells(beyond(at.receivers, first), last - first)
    first, last = at.sender_offsets[begin], at.sender_offsets[end]
    senders = Cells(beyond(at.senders, first), last - first)
    turned = PairsBySender(
        address(transposed.offsets), address(transposed.receivers), address(transposed.pairs)
    )
    most = heads * max(
        most_pairs(address(pairs.offsets), receivers), most_pairs(turned.offsets, senders)
    )
    slopes, shares = np.empty(most, query.data.dtype), np.empty(most, query.data.dtype)
    alone = len(by_pair) == 0
    if alone:
        room = most_between(tiles.work, begin, end)
        by_pair = np.empty(2 * room * heads, query.data.dtype)
    for tile in range(begin, end):
        base = tiles.work[tile] if alone else 0
        first, last = at.receiver_offsets[tile], at.receiver_offsets[tile + 1]
        for place in range(first, last):
            if tile + 1 < end:
                fetch_share(
                    at, tile + 1, place - first, last - first, sizes,
                    (at_rows(key), at_rows(grad_key)), (at_rows(value), at_rows(grad_value)),
                    (at_rows(query), at_rows(grad_query)), (at_rows(output), at_rows(grad_output)),
                )  # fmt: skip
            receiver = at.receivers[place]
            _receiver(
                receiver, at.before[receiver] - base, at_rows(query), at_rows(key), at_rows(value),
                at_pairs(pairs), sizes, scale, dropout, zero, at_rows(output),
                address(log_sum_exp), at_rows(grad_output), at_rows(grad_query),
                address(grad_bias), address(by_pair), address(slopes), address(shares),
            )  # fmt: skip
        for place in range(at.sender_offsets[tile], at.sender_offsets[tile + 1]):
            _sender(
                at.senders[place], at.before, base, at_rows(query), turned, address(pairs.offsets),
                sizes, zero, at_rows(grad_output), address(by_pair), at_rows(grad_key),
                at_rows(grad_value), address(slopes), address(shares),
            )  # fmt: skip
    keep(slopes)
    keep(shares)
    keep(by_pair)


@part_of_kernel
@no_type_check
def _receiver(
    receiver, place, query, key, value, pairs, sizes, scale, dropout, zero, output, log_sum_exp,
    grad_output, grad_query, grad_bias, by_pair, slopes, changes,
):  # fmt: skip
    heads, step = sizes.heads, count(zero)
    cells, first = cells_between(pairs.senders, pairs.offsets, receiver), pairs.offsets[receiver]
    scores(query, receiver, key, pairs, scale, slopes, sizes, zero)
    one = splat(1.0, zero)
    products(grad_output, receiver, value, cells, one, changes, 0, sizes.value_width, heads, zero)
    for head in range(0, heads, step):
        i, o = receiver * grad_output.stride + head, receiver * output.stride + head
        # The mean of the gradients of this receiver's weights.
        mean = dot(grad_output.data, i, output.data, o, sizes.value_width, heads, zero)
        total = load(log_sum_exp, receiver * heads + head, zero)
        for n in range(cells.length):
            pair, near = first + n, n * heads + head
            side = 2 * (place + n) * heads + head
            weight = exp(subtract(load(slopes, near, zero), total))
            change = load(changes, near, zero)
            if dropout.threshold:
                draw = pair_key(dropout.seed, pair)
                chance = kept(draw, head, dropout.threshold, dropout.factor, zero)
                change = multiply(change, chance)
                store(by_pair, side + heads, multiply(weight, chance))
            else:
                store(by_pair, side + heads, weight)
            slope = multiply(weight, subtract(change, mean))
            if pairs.biased:
                store(grad_bias, pair * heads + head, slope)
            slope = multiply(splat(scale * pairs.weights[pair], zero), slope)
            store(by_pair, side, slope)
            store(slopes, near, slope)
    weighted_sum(grad_query, receiver, key, cells, slopes, 0, sizes.head_width, heads, zero)


@part_of_kernel
@no_type_check
def _sender(
    sender, before, base, query, transposed, offsets, sizes, zero, grad_output, by_pair, grad_key,
    grad_value, slopes, shares,
):  # fmt: skip
    heads, step = sizes.heads, count(zero)
    cells = cells_between(transposed.receivers, transposed.offsets, sender)
    for n in range(cells.length):
        receiver = cells.numbers[n]
        pair = transposed.pairs[transposed.offsets[sender] + n]
        place = pair - offsets[receiver] + before[receiver] - base
        for head in range(0, heads, step):
            side, to = 2 * place * heads + head, n * heads + head
            store(slopes, to, load(by_pair, side, zero))
            store(shares, to, load(by_pair, side + heads, zero))
    weighted_sum(grad_key, sender, query, cells, slopes, 0, sizes.head_width, heads, zero)
    weighted_sum(grad_value, sender, grad_output, cells, shares, 0, sizes.value_width, heads, zero)
