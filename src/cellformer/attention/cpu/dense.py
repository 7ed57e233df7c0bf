"""Dense attention within each complex on a CPU: one complex after another, nothing padded.

A complex is done by one thread, so that the gradients of its keys and values are added up in one
order and without scattering between threads. The backward takes as many receivers at a time as
have weights that fit in the cache, and computes the weights again.
"""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from numpy.typing import NDArray

from cellformer.attention.cpu.compiled import kernel, part_of_kernel
from cellformer.attention.cpu.lanes.dropout import kept, pair_key
from cellformer.attention.cpu.lanes.exp import exp
from cellformer.attention.cpu.lanes.vectors import (
    add,
    address,
    beyond,
    count,
    keep,
    load,
    multiply,
    multiply_add,
    splat,
    store,
    subtract,
    zeros,
)
from cellformer.attention.cpu.rows import (
    Cells,
    at_rows,
    cells_between,
    fetch_share,
    run_of_rows,
)
from cellformer.attention.cpu.softmax import soften
from cellformer.attention.cpu.sums import dot, products, sums_of_rows, weighted_sum
from cellformer.attention.cpu.tiles import most_between

CACHED = 32768  # numbers: what a core's second cache holds beside the rows that are read


class Squares(NamedTuple):
    """The receivers and senders of each complex, and the stored entries of N.

    Complex c has the receivers ``receivers[receiver_offsets[c]:receiver_offsets[c + 1]]``, its
    senders likewise; ``places`` are the senders' places within their complex. ``work`` adds up
    the number of pairs of all complexes before.
    """

    receivers: NDArray[Any]
    receiver_offsets: NDArray[Any]
    senders: NDArray[Any]
    sender_offsets: NDArray[Any]
    places: NDArray[Any]
    work: NDArray[Any]
    pair_offsets: NDArray[Any]  # of each receiver
    pair_senders: NDArray[Any]
    pair_weights: NDArray[Any]


@part_of_kernel
@no_type_check
def _at_squares(squares):
    return Squares(
        address(squares.receivers),
        address(squares.receiver_offsets),
        address(squares.senders),
        address(squares.sender_offsets),
        address(squares.places),
        address(squares.work),
        address(squares.pair_offsets),
        address(squares.pair_senders),
        address(squares.pair_weights),
    )


@part_of_kernel
@no_type_check
def _scores(query, key, receiver, senders, squares, theta, scale, scores, first, sizes, zero):
    """Sets the scores of a receiver, (sender, head), from ``first`` on."""
    heads, step = sizes.heads, count(zero)
    factor = splat(scale, zero)
    products(query, receiver, key, senders, factor, scores, first, sizes.head_width, heads, zero)
    for pair in range(squares.pair_offsets[receiver], squares.pair_offsets[receiver + 1]):
        at = first + squares.places[squares.pair_senders[pair]] * heads
        weight = splat(squares.pair_weights[pair], zero)
        for head in range(0, heads, step):
            biased = multiply_add(load(theta, head, zero), weight, load(scores, at + head, zero))
            store(scores, at + head, biased)


@part_of_kernel
@no_type_check
def _draw(dropout, receiver, place):
    """The random bits of a pair; no complex has 2^32 senders."""
    return pair_key(dropout.seed, (np.int64(receiver) << 32) + place)


@kernel
@no_type_check
def dense_forward(
    part,
    parts,
    query,
    key,
    value,
    squares,
    theta,
    sizes,
    scale,
    dropout,
    lanes,
    output,
    log_sum_exp,
):
    """Fills the output and, for the backward, the logarithm of each softmax's denominator."""
    begin, end = run_of_rows(squares.work, part, parts)
    most = most_between(squares.sender_offsets, begin, end)
    weights = np.empty(most * sizes.heads, query.data.dtype)
    at = _at_squares(squares)
    for number in range(begin, end):
        _attend(
            number, end, at_rows(query), at_rows(key), at_rows(value), at,
            address(theta), sizes, scale, dropout, zeros(query.data, lanes), at_rows(output),
            address(log_sum_exp), address(weights),
        )  # fmt: skip
    keep(weights)


@part_of_kernel
@no_type_check
def _attend(
    number, end, query, key, value, squares, theta, sizes, scale, dropout, zero, output,
    log_sum_exp, weights,
):  # fmt: skip
    """One complex, forward."""
    heads, step = sizes.heads, count(zero)
    senders = cells_between(squares.senders, squares.sender_offsets, number)
    receivers = cells_between(squares.receivers, squares.receiver_offsets, number)
    for n in range(receivers.length):
        if number + 1 < end:
            fetch_share(
                squares, number + 1, n, receivers.length, sizes, (key,), (value,), (query,),
                (output,),
            )  # fmt: skip
        receiver = receivers.numbers[n]
        _scores(query, key, receiver, senders, squares, theta, scale, weights, 0, sizes, zero)
        soften(weights, senders.length, log_sum_exp, receiver * heads, heads, zero)
        if dropout.threshold:
            for place in range(senders.length):
                draw = _draw(dropout, receiver, place)
                for head in range(0, heads, step):
                    at = place * heads + head
                    chance = kept(draw, head, dropout.threshold, dropout.factor, zero)
                    store(weights, at, multiply(load(weights, at, zero), chance))
        weighted_sum(output, receiver, value, senders, weights, 0, sizes.value_width, heads, zero)


@kernel
@no_type_check
def dense_backward(
    part,
    parts,
    query,
    key,
    value,
    squares,
    theta,
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
    grad_theta,
):
    """Fills the gradients; that of theta by (complex, head)."""
    begin, end = run_of_rows(squares.work, part, parts)
    room = max(most_between(squares.sender_offsets, begin, end) * sizes.heads, CACHED)
    slopes, shares = np.empty(room, query.data.dtype), np.empty(room, query.data.dtype)
    grad_theta[begin * sizes.heads : end * sizes.heads] = 0
    at = _at_squares(squares)
    for number in range(begin, end):
        _differentiate(
            number, end, room, at_rows(query), at_rows(key), at_rows(value), at,
            address(theta), sizes, scale, dropout, zeros(query.data, lanes), at_rows(output),
            address(log_sum_exp), at_rows(grad_output), at_rows(grad_query), at_rows(grad_key),
            at_rows(grad_value), address(grad_theta), address(slopes), address(shares),
        )  # fmt: skip
    keep(slopes)
    keep(shares)


@part_of_kernel
@no_type_check
def _differentiate(
    number, end, room, query, key, value, squares, theta, sizes, scale, dropout, zero, output,
    log_sum_exp, grad_output, grad_query, grad_key, grad_value, grad_theta, slopes, shares,
):  # fmt: skip
    """One complex, backward."""
    heads = sizes.heads
    senders = cells_between(squares.senders, squares.sender_offsets, number)
    receivers = cells_between(squares.receivers, squares.receiver_offsets, number)
    row = senders.length * heads
    at_once = max(room // max(row, 1), 1)
    # Without receivers one empty block, which sets the senders' gradients to zero.
    for start in range(0, max(receivers.length, 1), at_once):
        block = Cells(beyond(receivers.numbers, start), min(at_once, receivers.length - start))
        for place in range(block.length):
            if number + 1 < end:
                fetch_share(
                    squares, number + 1, start + place, receivers.length, sizes, (key, grad_key),
                    (value, grad_value), (query, grad_query), (output, grad_output),
                )  # fmt: skip
            receiver = block.numbers[place]
            _slopes(
                query, key, value, receiver, senders, squares, theta, sizes, scale, dropout, zero,
                output, log_sum_exp, grad_output, slopes, shares, place * row, grad_theta,
                number * heads,
            )  # fmt: skip
            weighted_sum(
                grad_query, receiver, key, senders, slopes, place * row, sizes.head_width, heads,
                zero,
            )  # fmt: skip
        for place in range(senders.length):
            sender, first = senders.numbers[place], place * heads
            sums_of_rows(
                grad_key, sender, query, block, slopes, first, row, sizes.head_width, heads, zero,
                start > 0,
            )  # fmt: skip
            sums_of_rows(
                grad_value, sender, grad_output, block, shares, first, row, sizes.value_width,
                heads, zero, start > 0,
            )  # fmt: skip


@part_of_kernel
@no_type_check
def _slopes(
    query, key, value, receiver, senders, squares, theta, sizes, scale, dropout, zero, output,
    log_sum_exp, grad_output, slopes, shares, first, grad_theta, to,
):  # fmt: skip
    """Sets one receiver's gradients of its products (slopes) and weights after dropout (shares)."""
    heads, step = sizes.heads, count(zero)
    factor = splat(scale, zero)
    _scores(query, key, receiver, senders, squares, theta, scale, slopes, first, sizes, zero)
    products(
        grad_output, receiver, value, senders, splat(1.0, zero), shares, first, sizes.value_width,
        heads, zero,
    )  # fmt: skip
    for head in range(0, heads, step):
        i, o = receiver * grad_output.stride + head, receiver * output.stride + head
        # The mean of the gradients of this receiver's weights.
        mean = dot(grad_output.data, i, output.data, o, sizes.value_width, heads, zero)
        total = load(log_sum_exp, receiver * heads + head, zero)
        for place in range(senders.length):
            at = first + place * heads + head
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
    for pair in range(squares.pair_offsets[receiver], squares.pair_offsets[receiver + 1]):
        at = first + squares.places[squares.pair_senders[pair]] * heads
        weight = splat(squares.pair_weights[pair], zero)
        for head in range(0, heads, step):
            slope = multiply(weight, load(slopes, at + head, zero))
            store(grad_theta, to + head, add(slope, load(grad_theta, to + head, zero)))
    for head in range(0, heads, step):
        at = first + head
        for _ in range(senders.length):
            store(slopes, at, multiply(factor, load(slopes, at, zero)))
            at += heads
