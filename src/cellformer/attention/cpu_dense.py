"""Dense attention within each complex on a CPU: one complex after another, nothing padded.

A complex is done by one thread, so that the gradients of its keys and values are added up in one
order and without scattering between threads. The backward takes as many receivers at a time as
have weights that fit in the cache, and computes the weights again.
"""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cellformer.attention.compiled import kernel
from cellformer.attention.cpu_rows import dot, products, run_of_rows, sums_of_rows, weighted_sum
from cellformer.attention.cpu_softmax import soften
from cellformer.attention.lanes import (
    add,
    load,
    multiply,
    multiply_add,
    splat,
    store,
    subtract,
    zeros,
)
from cellformer.attention.lanes_dropout import kept, pair_key
from cellformer.attention.lanes_exp import exp

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


@njit(error_model="numpy")
@no_type_check
def _cells(order, offsets, number):
    """The cells of a complex."""
    return order[offsets[number] : offsets[number + 1]]


@njit(error_model="numpy")
@no_type_check
def _most_senders(squares, begin, end):
    most = 0
    for number in range(begin, end):
        most = max(most, squares.sender_offsets[number + 1] - squares.sender_offsets[number])
    return most


@njit(error_model="numpy")
@no_type_check
def _scores(query, key, receiver, senders, squares, theta, scale, scores, first, sizes, lanes):
    """Sets the scores of a receiver, (sender, head), from ``first`` on."""
    zero = zeros(query.data, lanes)
    heads, step = sizes.heads, len(lanes)
    factor = splat(scale, zero)
    products(
        query, receiver, key, senders, factor, scores, first, sizes.head_width, heads, zero, lanes
    )
    for pair in range(squares.pair_offsets[receiver], squares.pair_offsets[receiver + 1]):
        at = first + squares.places[squares.pair_senders[pair]] * heads
        weight = splat(squares.pair_weights[pair], zero)
        for head in range(0, heads, step):
            biased = multiply_add(load(theta, head, zero), weight, load(scores, at + head, zero))
            store(scores, at + head, biased)


@njit(error_model="numpy")
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
    zero = zeros(query.data, lanes)
    heads, step = sizes.heads, len(lanes)
    weights = np.empty(_most_senders(squares, begin, end) * heads, query.data.dtype)
    for number in range(begin, end):
        senders = _cells(squares.senders, squares.sender_offsets, number)
        for receiver in _cells(squares.receivers, squares.receiver_offsets, number):
            _scores(query, key, receiver, senders, squares, theta, scale, weights, 0, sizes, lanes)
            soften(weights, len(senders), log_sum_exp, receiver * heads, heads, zero, lanes)
            if dropout.threshold:
                for place in range(len(senders)):
                    draw = _draw(dropout, receiver, place)
                    for head in range(0, heads, step):
                        at = place * heads + head
                        keep = kept(draw, head, dropout.threshold, dropout.factor, zero)
                        store(weights, at, multiply(load(weights, at, zero), keep))
            weighted_sum(
                output, receiver, value, senders, weights, 0, sizes.value_width, heads, zero, lanes
            )


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
    zero = zeros(query.data, lanes)
    heads = sizes.heads
    most = _most_senders(squares, begin, end) * heads
    room = max(most, CACHED)
    slopes, shares = np.empty(room, query.data.dtype), np.empty(room, query.data.dtype)
    for number in range(begin, end):
        senders = _cells(squares.senders, squares.sender_offsets, number)
        receivers = _cells(squares.receivers, squares.receiver_offsets, number)
        row = len(senders) * heads
        grad_theta[number * heads : (number + 1) * heads] = 0
        at_once = max(room // max(row, 1), 1)
        # Without receivers one empty block, which sets the senders' gradients to zero.
        for start in range(0, max(len(receivers), 1), at_once):
            block = receivers[start : start + at_once]
            for place in range(len(block)):
                _slopes(
                    query, key, value, block[place], senders, squares, theta, sizes, scale,
                    dropout, lanes, output, log_sum_exp, grad_output, slopes, shares, place * row,
                    grad_theta, number * heads,
                )  # fmt: skip
                weighted_sum(
                    grad_query, block[place], key, senders, slopes, place * row,
                    sizes.head_width, heads, zero, lanes,
                )  # fmt: skip
            for place in range(len(senders)):
                sender, first = senders[place], place * heads
                sums_of_rows(
                    grad_key, sender, query, block, slopes, first, row, sizes.head_width, heads,
                    zero, lanes, start > 0,
                )  # fmt: skip
                sums_of_rows(
                    grad_value, sender, grad_output, block, shares, first, row,
                    sizes.value_width, heads, zero, lanes, start > 0,
                )  # fmt: skip


@njit(error_model="numpy")
@no_type_check
def _slopes(
    query, key, value, receiver, senders, squares, theta, sizes, scale, dropout, lanes, output,
    log_sum_exp, grad_output, slopes, shares, first, grad_theta, to,
):  # fmt: skip
    """Sets one receiver's gradients of its products (slopes) and weights after dropout (shares)."""
    zero = zeros(query.data, lanes)
    heads, step = sizes.heads, len(lanes)
    factor = splat(scale, zero)
    _scores(query, key, receiver, senders, squares, theta, scale, slopes, first, sizes, lanes)
    products(
        grad_output, receiver, value, senders, splat(1.0, zero), shares, first, sizes.value_width,
        heads, zero, lanes,
    )  # fmt: skip
    for head in range(0, heads, step):
        i, o = receiver * grad_output.stride + head, receiver * output.stride + head
        # The mean of the gradients of this receiver's weights.
        mean = dot(grad_output.data, i, output.data, o, sizes.value_width, heads, zero)
        total = load(log_sum_exp, receiver * heads + head, zero)
        for place in range(len(senders)):
            at = first + place * heads + head
            weight = exp(subtract(load(slopes, at, zero), total))
            change = load(shares, at, zero)
            if dropout.threshold:
                draw = _draw(dropout, receiver, place)
                keep = kept(draw, head, dropout.threshold, dropout.factor, zero)
                change = multiply(change, keep)
                store(shares, at, multiply(weight, keep))
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
        for at in range(first + head, first + head + len(senders) * heads, heads):
            store(slopes, at, multiply(factor, load(slopes, at, zero)))
