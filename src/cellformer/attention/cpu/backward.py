"""Sparse attention on a CPU, backward: weights are computed again, and nothing is scattered.

The gradients of keys and values are added up sender by sender, along the transposed pairs, as
soon as all receivers of a tile are done.
"""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from numpy.typing import NDArray

from cellformer.attention.cpu.compiled import kernel, part_of_kernel
from cellformer.attention.cpu.lanes.addresses import beyond, by_address, keep
from cellformer.attention.cpu.lanes.dropout import kept, pair_key
from cellformer.attention.cpu.lanes.exp import exp
from cellformer.attention.cpu.lanes.vectors import (
    add,
    count,
    load,
    multiply,
    splat,
    store,
    subtract,
)
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
from cellformer.attention.cpu.sums import dot, products, weighted_sum
from cellformer.attention.cpu.tiles import most_between, most_pairs


class Passed(NamedTuple):
    """Room for what the receivers leave to their senders, and for one cell's pairs.

    ``by_pair`` holds, pair after pair in the order of the tiles, the gradients of the products
    and the attention after dropout, (pair, 2, head); the other two either of them, (pair, head).
    """

    by_pair: NDArray[Any]
    slopes: NDArray[Any]
    shares: NDArray[Any]


@kernel
@no_type_check
def attention_backward(part, parts, inputs, pairs, tiles, settings, results, gradients):
    """Fills the gradients of one part of the tiles' receivers and senders.

    That of the bias only if there is one. Where the gradients have no room by pair, one is made
    that holds one tile at a time.
    """
    begin, end = run_of_rows(tiles.work, part, parts)
    heads, by_pair = settings.sizes.heads, gradients.by_pair
    most = heads * _most_pairs(by_address(tiles), by_address(pairs), begin, end)
    slopes = np.empty(most, inputs.query.data.dtype)
    shares = np.empty(most, inputs.query.data.dtype)
    alone = len(by_pair) == 0
    if alone:
        room = most_between(tiles.work, begin, end)
        by_pair = np.empty(2 * room * heads, inputs.query.data.dtype)
    settings = in_lanes(settings, inputs.query.data)
    inputs, pairs, at = by_address(inputs), by_address(pairs), by_address(tiles)
    results, gradients = by_address(results), by_address(gradients)
    fetched = Fetched(
        (inputs.query, gradients.query),
        (inputs.key, gradients.key),
        (inputs.value, gradients.value),
        (results.output, gradients.output),
    )
    for tile in range(begin, end):
        base = at.work[tile] if alone else 0
        passed = Passed(
            beyond(by_address(by_pair), -2 * base * heads), by_address(slopes), by_address(shares)
        )
        first, last = at.receiver_offsets[tile], at.receiver_offsets[tile + 1]
        for place in range(first, last):
            if tile + 1 < end:
                fetch_share(at, tile + 1, place - first, last - first, settings.sizes, fetched)
            _receiver(
                at.receivers[place], at.before, inputs, pairs.by_receiver, settings, results,
                gradients, passed,
            )  # fmt: skip
        for place in range(at.sender_offsets[tile], at.sender_offsets[tile + 1]):
            _sender(at.senders[place], at.before, inputs.query, pairs, settings, gradients, passed)
    keep(slopes)
    keep(shares)
    keep(by_pair)


@part_of_kernel
@no_type_check
def _most_pairs(tiles, pairs, begin, end):
    """Of one receiver or one sender of these tiles."""
    first, last = tiles.receiver_offsets[begin], tiles.receiver_offsets[end]
    receivers = Cells(beyond(tiles.receivers, first), last - first)
    first, last = tiles.sender_offsets[begin], tiles.sender_offsets[end]
    senders = Cells(beyond(tiles.senders, first), last - first)
    return max(
        most_pairs(pairs.by_receiver.offsets, receivers),
        most_pairs(pairs.by_sender.offsets, senders),
    )


@part_of_kernel
@no_type_check
def _receiver(receiver, before, inputs, pairs, settings, results, gradients, passed):
    """Fills the gradient of a receiver's query, and leaves to its senders what is theirs."""
    sizes, dropout, zero = settings.sizes, settings.dropout, settings.zero
    heads, slopes, changes = sizes.heads, passed.slopes, passed.shares
    cells, first = cells_between(pairs.senders, pairs.offsets, receiver), pairs.offsets[receiver]
    scores(receiver, inputs, pairs, settings, slopes)
    output, grad = row_at(results.output, receiver), row_at(gradients.output, receiver)
    products(grad, inputs.value, cells, splat(1.0, zero), changes, sizes.value_width, heads, zero)
    own = values_from(inputs.terms, first, heads)
    grad_own = values_from(gradients.terms, first, heads)
    from_pairs = beyond(grad, sizes.value_width * heads)
    received_width = sizes.value_width + sizes.pair_width
    for head in range(0, heads, count(zero)):
        # The mean of the gradients of this receiver's weights.
        mean = dot(grad, head, output, head, received_width, heads, zero)
        total = load(results.log_sum_exp, receiver * heads + head, zero)
        for n in range(cells.length):
            pair, near = first + n, n * heads + head
            side = 2 * (before[receiver] + n) * heads + head
            weight = exp(subtract(load(slopes, near, zero), total))
            change, share = load(changes, near, zero), weight
            if sizes.pair_width:
                at = n * own.stride + head
                more = dot(from_pairs, head, own.data, at, sizes.pair_width, heads, zero)
                change = add(change, more)
            if dropout.threshold:
                draw = pair_key(dropout.seed, pair)
                chance = kept(draw, head, dropout.threshold, dropout.factor, zero)
                change, share = multiply(change, chance), multiply(weight, chance)
            store(passed.by_pair, side + heads, share)
            at = n * grad_own.stride + head
            for column in range(0, sizes.pair_width * heads, heads):
                grown = multiply(share, load(from_pairs, column + head, zero))
                store(grad_own.data, at + column, grown)
            slope = multiply(weight, subtract(change, mean))
            if inputs.biased:
                store(row_at(gradients.terms, pair), head, slope)
            slope = multiply(splat(settings.scale * pairs.weights[pair], zero), slope)
            store(passed.by_pair, side, slope)
            store(slopes, near, slope)
    query = row_at(gradients.query, receiver)
    weighted_sum(query, inputs.key, cells, slopes, sizes.head_width, heads, zero)


@part_of_kernel
@no_type_check
def _sender(sender, before, query, pairs, settings, gradients, passed):
    """Fills the gradients of a sender's key and value from what its receivers left."""
    sizes, zero, there = settings.sizes, settings.zero, pairs.by_sender
    heads, slopes, shares = sizes.heads, passed.slopes, passed.shares
    cells = cells_between(there.receivers, there.offsets, sender)
    for n in range(cells.length):
        receiver = cells.numbers[n]
        pair = there.pairs[there.offsets[sender] + n]
        place = pair - pairs.by_receiver.offsets[receiver] + before[receiver]
        for head in range(0, heads, count(zero)):
            side, to = 2 * place * heads + head, n * heads + head
            store(slopes, to, load(passed.by_pair, side, zero))
            store(shares, to, load(passed.by_pair, side + heads, zero))
    key, value = row_at(gradients.key, sender), row_at(gradients.value, sender)
    weighted_sum(key, query, cells, slopes, sizes.head_width, heads, zero)
    weighted_sum(value, gradients.output, cells, shares, sizes.value_width, heads, zero)
