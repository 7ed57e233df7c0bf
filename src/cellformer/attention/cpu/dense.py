"""Dense attention within each complex on a CPU: one complex after another, nothing padded.

A complex is done by one thread, so that the gradients of its keys and values are added up in one
order and without scattering between threads. The backward takes as many receivers at a time as
have weights that fit in the cache, and computes the weights again.
"""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from numpy.typing import NDArray

from cellformer.attention.cpu.bundles import Rows
from cellformer.attention.cpu.compiled import kernel, part_of_kernel
from cellformer.attention.cpu.lanes.addresses import beyond, by_address, keep
from cellformer.attention.cpu.lanes.dropout import kept, pair_key
from cellformer.attention.cpu.lanes.exp import exp
from cellformer.attention.cpu.lanes.vectors import (
    add,
    count,
    load,
    multiply,
    multiply_add,
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
)
from cellformer.attention.cpu.softmax import soften
from cellformer.attention.cpu.sums import dot, products, sums_of_rows, weighted_sum
from cellformer.attention.cpu.tiles import most_between

CACHED = 32768  # numbers: what a core's second cache holds beside the rows that are read


class Weighed(NamedTuple):
    """Room for the gradients of products and the weights after dropout, (sender, head).

    Of as many receivers as ``room`` numbers each hold.
    """

    slopes: NDArray[Any]
    shares: NDArray[Any]
    room: int


@part_of_kernel
@no_type_check
def _scores(receiver, senders, inputs, squares, settings, target):
    """Sets the scores of a receiver, (sender, head)."""
    sizes, zero = settings.sizes, settings.zero
    heads, query = sizes.heads, row_at(inputs.query, receiver)
    factor = splat(settings.scale, zero)
    products(query, inputs.key, senders, factor, target, sizes.head_width, heads, zero)
    for pair in range(squares.pair_offsets[receiver], squares.pair_offsets[receiver + 1]):
        first = squares.places[squares.pair_senders[pair]] * heads
        weight = splat(squares.pair_weights[pair], zero)
        for head in range(0, heads, count(zero)):
            score, theta = load(target, first + head, zero), load(inputs.theta, head, zero)
            store(target, first + head, multiply_add(theta, weight, score))


@part_of_kernel
@no_type_check
def _draw(dropout, receiver, place):
    """The random bits of a pair; no complex has 2^32 senders."""
    return pair_key(dropout.seed, (np.int64(receiver) << 32) + place)


@kernel
@no_type_check
def dense_forward(part, parts, inputs, squares, settings, results):
    """Fills the results: one part of the complexes."""
    begin, end = run_of_rows(squares.work, part, parts)
    most = most_between(squares.sender_offsets, begin, end)
    weights = np.empty(most * settings.sizes.heads, inputs.query.data.dtype)  # of one receiver
    settings = in_lanes(settings, inputs.query.data)
    inputs, squares, results = by_address(inputs), by_address(squares), by_address(results)
    for number in range(begin, end):
        _attend(number, end, inputs, squares, settings, results, by_address(weights))
    keep(weights)


@part_of_kernel
@no_type_check
def _attend(number, end, inputs, squares, settings, results, weights):
    """One complex, forward."""
    sizes, dropout, zero = settings.sizes, settings.dropout, settings.zero
    heads = sizes.heads
    fetched = Fetched((inputs.query,), (inputs.key,), (inputs.value,), (results.output,))
    senders = cells_between(squares.senders, squares.sender_offsets, number)
    receivers = cells_between(squares.receivers, squares.receiver_offsets, number)
    for n in range(receivers.length):
        if number + 1 < end:
            fetch_share(squares, number + 1, n, receivers.length, sizes, fetched)
        receiver = receivers.numbers[n]
        _scores(receiver, senders, inputs, squares, settings, weights)
        soften(weights, senders.length, beyond(results.log_sum_exp, receiver * heads), heads, zero)
        if dropout.threshold:
            for place in range(senders.length):
                draw = _draw(dropout, receiver, place)
                for head in range(0, heads, count(zero)):
                    at = place * heads + head
                    chance = kept(draw, head, dropout.threshold, dropout.factor, zero)
                    store(weights, at, multiply(load(weights, at, zero), chance))
        output = row_at(results.output, receiver)
        weighted_sum(output, inputs.value, senders, weights, sizes.value_width, heads, zero)


@kernel
@no_type_check
def dense_backward(part, parts, inputs, squares, settings, results, gradients):
    """Fills the gradients of one part of the complexes."""
    begin, end = run_of_rows(squares.work, part, parts)
    heads = settings.sizes.heads
    room = max(most_between(squares.sender_offsets, begin, end) * heads, CACHED)
    slopes = np.empty(room, inputs.query.data.dtype)
    shares = np.empty(room, inputs.query.data.dtype)
    gradients.theta[begin * heads : end * heads] = 0
    settings = in_lanes(settings, inputs.query.data)
    inputs, squares, results = by_address(inputs), by_address(squares), by_address(results)
    gradients = by_address(gradients)
    weighed = Weighed(by_address(slopes), by_address(shares), room)
    for number in range(begin, end):
        _differentiate(number, end, inputs, squares, settings, results, gradients, weighed)
    keep(slopes)
    keep(shares)


@part_of_kernel
@no_type_check
def _differentiate(number, end, inputs, squares, settings, results, gradients, weighed):
    """One complex, backward."""
    sizes, zero = settings.sizes, settings.zero
    heads = sizes.heads
    fetched = Fetched(
        (inputs.query, gradients.query),
        (inputs.key, gradients.key),
        (inputs.value, gradients.value),
        (results.output, gradients.output),
    )
    senders = cells_between(squares.senders, squares.sender_offsets, number)
    receivers = cells_between(squares.receivers, squares.receiver_offsets, number)
    row = senders.length * heads
    at_once = max(weighed.room // max(row, 1), 1)
    # Without receivers one empty block, which sets the senders' gradients to zero.
    for start in range(0, max(receivers.length, 1), at_once):
        block = Cells(beyond(receivers.numbers, start), min(at_once, receivers.length - start))
        for place in range(block.length):
            if number + 1 < end:
                fetch_share(squares, number + 1, start + place, receivers.length, sizes, fetched)
            receiver = block.numbers[place]
            slopes = beyond(weighed.slopes, place * row)
            own = Weighed(slopes, beyond(weighed.shares, place * row), row)
            _slopes(receiver, number, inputs, squares, settings, results, gradients, own)
            query = row_at(gradients.query, receiver)
            weighted_sum(query, inputs.key, senders, slopes, sizes.head_width, heads, zero)
        for place in range(senders.length):
            sender, onto = senders.numbers[place], start > 0
            slopes = Rows(beyond(weighed.slopes, place * heads), row)
            shares = Rows(beyond(weighed.shares, place * heads), row)
            key, value = row_at(gradients.key, sender), row_at(gradients.value, sender)
            sums_of_rows(key, inputs.query, block, slopes, sizes.head_width, heads, zero, onto)
            sums_of_rows(
                value, gradients.output, block, shares, sizes.value_width, heads, zero, onto
            )


@part_of_kernel
@no_type_check
def _slopes(receiver, number, inputs, squares, settings, results, gradients, weighed):
    """Sets what is weighed of one receiver, and adds to the gradient of theta of its complex."""
    sizes, dropout, zero = settings.sizes, settings.dropout, settings.zero
    heads, slopes, shares = sizes.heads, weighed.slopes, weighed.shares
    senders = cells_between(squares.senders, squares.sender_offsets, number)
    _scores(receiver, senders, inputs, squares, settings, slopes)
    output, grad = row_at(results.output, receiver), row_at(gradients.output, receiver)
    products(grad, inputs.value, senders, splat(1.0, zero), shares, sizes.value_width, heads, zero)
    for head in range(0, heads, count(zero)):
        # The mean of the gradients of this receiver's weights.
        mean = dot(grad, head, output, head, sizes.value_width, heads, zero)
        total = load(results.log_sum_exp, receiver * heads + head, zero)
        for place in range(senders.length):
            at = place * heads + head
            weight = exp(subtract(load(slopes, at, zero), total))
            change = load(shares, at, zero)
            if dropout.threshold:
                draw = _draw(dropout, receiver, place)
                chance = kept(draw, head, dropout.threshold, dropout.factor, zero)
                change = multiply(change, chance)
                store(shares, at, multiply(weight, chance))
            else:
                store(shares, at, weight)
            store(slopes, at, multiply(weight, subtract(change, mean)))
    theta = beyond(gradients.theta, number * heads)
    for pair in range(squares.pair_offsets[receiver], squares.pair_offsets[receiver + 1]):
        first = squares.places[squares.pair_senders[pair]] * heads
        weight = splat(squares.pair_weights[pair], zero)
        for head in range(0, heads, count(zero)):
            slope = multiply(weight, load(slopes, first + head, zero))
            store(theta, head, add(slope, load(theta, head, zero)))
    factor = splat(settings.scale, zero)
    for head in range(0, heads, count(zero)):
        at = head
        for _ in range(senders.length):
            store(slopes, at, multiply(factor, load(slopes, at, zero)))
            at += heads
