"""What the kernels of sparse attention on a CPU share: their arguments and their inner loops.

All arrays are flat. Row r of a `Rows` starts at ``r * stride`` and holds (column, head), the head
varying fastest, so that the innermost loops run over heads, side by side in a vector register,
and no sum crosses lanes. How many heads a register holds is the type of ``zero``, which is that
many zeros. Arrays come from Python; between compiled functions their addresses travel.

Rows are shared out between threads in runs of like work, and one thread adds up one row, so that
the result is the same for any number of threads.
"""

from typing import Any, NamedTuple, no_type_check

import numpy as np
from numpy.typing import NDArray

from cellformer.attention.compiled import part_of_kernel
from cellformer.attention.lanes import (
    add,
    address,
    beyond,
    count,
    load,
    multiply,
    multiply_add,
    prefetch,
    splat,
    store,
)

LINE = 16  # numbers of float32 in a line of the cache
NEAR = 32768  # numbers, of one matrix, that are fetched ahead


class Rows(NamedTuple):
    """A matrix whose rows are ``stride`` numbers apart in a flat array."""

    data: NDArray[Any]
    stride: int


class Cells(NamedTuple):
    """The numbers of ``length`` cells, one after the other in an array."""

    numbers: NDArray[Any]
    length: int


class Pairs(NamedTuple):
    """A neighborhood in CSR form; ``bias`` is (pair, head) if ``biased``, and else empty."""

    offsets: NDArray[Any]
    senders: NDArray[Any]
    weights: NDArray[Any]
    bias: NDArray[Any]
    biased: bool


class TransposedPairs(NamedTuple):
    """The pairs of each sender: their receivers, and their numbers in `Pairs`."""

    offsets: NDArray[Any]
    receivers: NDArray[Any]
    pairs: NDArray[Any]


class Sizes(NamedTuple):
    """The widths of a head, and the number of heads."""

    head_width: int
    value_width: int
    heads: int


class Dropout(NamedTuple):
    """A weight is dropped with probability threshold / 2^32, else multiplied by ``factor``."""

    seed: int
    threshold: np.uint32
    factor: float


@part_of_kernel
@no_type_check
def at_rows(rows):
    """The same by address."""
    return Rows(address(rows.data), rows.stride)


@part_of_kernel
@no_type_check
def at_pairs(pairs):
    """The same by address."""
    return Pairs(
        address(pairs.offsets),
        address(pairs.senders),
        address(pairs.weights),
        address(pairs.bias),
        pairs.biased,
    )


@part_of_kernel
@no_type_check
def cells_between(numbers, offsets, place):
    """Those from one offset to the next."""
    return Cells(beyond(numbers, offsets[place]), offsets[place + 1] - offsets[place])


@part_of_kernel
@no_type_check
def fetch(cells, width, matrices):
    """Has the rows of these cells brought near before they are read or written, if not too many."""
    if cells.length * width > NEAR:
        return
    for rows in matrices:
        for n in range(cells.length):
            start = cells.numbers[n] * rows.stride
            for at in range(start, start + width, LINE):
                prefetch(rows.data, at)


@part_of_kernel
@no_type_check
def fetch_piece(pieces, number, sizes, keys, values, queries, outputs):
    """Has all rows of a tile or a complex brought near, of the matrices of each kind."""
    senders = cells_between(pieces.senders, pieces.sender_offsets, number)
    receivers = cells_between(pieces.receivers, pieces.receiver_offsets, number)
    fetch(senders, sizes.head_width * sizes.heads, keys)
    fetch(senders, sizes.value_width * sizes.heads, values)
    fetch(receivers, sizes.head_width * sizes.heads, queries)
    fetch(receivers, sizes.value_width * sizes.heads, outputs)


@part_of_kernel
@no_type_check
def run_of_rows(offsets, part, parts):
    """The first row of a part and of the next one; a row's work is its pairs and 1."""
    rows = len(offsets) - 1
    work = offsets[rows] + rows
    return (
        _row_at(offsets, work * part // parts),
        _row_at(offsets, work * (part + 1) // parts),
    )


@part_of_kernel
@no_type_check
def _row_at(offsets, work):
    """The first row before which there is at least this much work."""
    low, high = 0, len(offsets) - 1
    while low < high:
        middle = (low + high) // 2
        if offsets[middle] + middle < work:
            low = middle + 1
        else:
            high = middle
    return low


@part_of_kernel
@no_type_check
def dot(left, i, right, j, width, heads, zero):
    """The scalar product over ``width`` columns, for the heads at i and at j."""
    # Four columns at a time: shorter chains of sums, and less bookkeeping in the loop.
    first, second, third, fourth = zero, zero, zero, zero
    stop = i + width * heads
    while i + 3 * heads < stop:
        first = multiply_add(load(left, i, zero), load(right, j, zero), first)
        i, j = i + heads, j + heads
        second = multiply_add(load(left, i, zero), load(right, j, zero), second)
        i, j = i + heads, j + heads
        third = multiply_add(load(left, i, zero), load(right, j, zero), third)
        i, j = i + heads, j + heads
        fourth = multiply_add(load(left, i, zero), load(right, j, zero), fourth)
        i, j = i + heads, j + heads
    while i < stop:
        first = multiply_add(load(left, i, zero), load(right, j, zero), first)
        i, j = i + heads, j + heads
    return add(add(first, second), add(third, fourth))


@part_of_kernel
@no_type_check
def products(left, row, right, cells, factor, target, first, width, heads, zero):
    """Sets, from ``first`` on, the products (cell, head) of a row with the rows of the cells.

    Four cells at a time, so that a column of the row is loaded once for all of them.
    """
    stride = right.stride
    for head in range(0, heads, count(zero)):
        start = row * left.stride + head
        to = first + head
        n = 0
        while n + 3 < cells.length:
            i = start
            j_0, j_1 = cells.numbers[n] * stride + head, cells.numbers[n + 1] * stride + head
            j_2, j_3 = cells.numbers[n + 2] * stride + head, cells.numbers[n + 3] * stride + head
            sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
            for _ in range(width):
                column = load(left.data, i, zero)
                sum_0 = multiply_add(column, load(right.data, j_0, zero), sum_0)
                sum_1 = multiply_add(column, load(right.data, j_1, zero), sum_1)
                sum_2 = multiply_add(column, load(right.data, j_2, zero), sum_2)
                sum_3 = multiply_add(column, load(right.data, j_3, zero), sum_3)
                i, j_0, j_1 = i + heads, j_0 + heads, j_1 + heads
                j_2, j_3 = j_2 + heads, j_3 + heads
            store(target, to, multiply(factor, sum_0))
            store(target, to + heads, multiply(factor, sum_1))
            store(target, to + 2 * heads, multiply(factor, sum_2))
            store(target, to + 3 * heads, multiply(factor, sum_3))
            to += 4 * heads
            n += 4
        while n < cells.length:
            j = cells.numbers[n] * stride + head
            product = dot(left.data, start, right.data, j, width, heads, zero)
            store(target, to, multiply(factor, product))
            to += heads
            n += 1


@part_of_kernel
@no_type_check
def weighted_sum(target, row, source, cells, weights, first, width, heads, zero):
    """Sets a row to the sum of the cells' rows, each times its weights.

    The weights of cell n and head h are at ``first + n * heads + h``.
    """
    sums_of_rows(target, row, source, cells, weights, first, heads, width, heads, zero, False)


@part_of_kernel
@no_type_check
def sums_of_rows(target, row, source, cells, weights, first, stride, width, heads, zero, onto):
    """`weighted_sum` for weights ``stride`` apart, on top of what the row holds if ``onto``."""
    start, step = row * target.stride, count(zero)
    for head in range(0, heads, step):
        column = 0
        while column + 3 < width:  # sums of four columns at a time, in registers
            at = column * heads + head
            to = start + at
            sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
            if onto:
                sum_0 = load(target.data, to, zero)
                sum_1 = load(target.data, to + heads, zero)
                sum_2 = load(target.data, to + 2 * heads, zero)
                sum_3 = load(target.data, to + 3 * heads, zero)
            w = first + head
            for n in range(cells.length):
                weight = load(weights, w, zero)
                w += stride
                i = cells.numbers[n] * source.stride + at
                sum_0 = multiply_add(weight, load(source.data, i, zero), sum_0)
                sum_1 = multiply_add(weight, load(source.data, i + heads, zero), sum_1)
                sum_2 = multiply_add(weight, load(source.data, i + 2 * heads, zero), sum_2)
                sum_3 = multiply_add(weight, load(source.data, i + 3 * heads, zero), sum_3)
            store(target.data, to, sum_0)
            store(target.data, to + heads, sum_1)
            store(target.data, to + 2 * heads, sum_2)
            store(target.data, to + 3 * heads, sum_3)
            column += 4
        while column < width:
            at = column * heads + head
            total = load(target.data, start + at, zero) if onto else zero
            w = first + head
            for n in range(cells.length):
                i = cells.numbers[n] * source.stride + at
                total = multiply_add(load(weights, w, zero), load(source.data, i, zero), total)
                w += stride
            store(target.data, start + at, total)
            column += 1


@part_of_kernel
@no_type_check
def scores(query, receiver, key, pairs, scale, target, sizes, zero):
    """Sets the scores (pair, head) of a receiver's pairs, from 0 on."""
    cells = cells_between(pairs.senders, pairs.offsets, receiver)
    first, heads, step = pairs.offsets[receiver], sizes.heads, count(zero)
    one = splat(1.0, zero)
    products(query, receiver, key, cells, one, target, 0, sizes.head_width, heads, zero)
    for pair in range(first, first + cells.length):
        factor = splat(scale * pairs.weights[pair], zero)
        for head in range(0, heads, step):
            at = (pair - first) * heads + head
            product = load(target, at, zero)
            if pairs.biased:
                bias = load(pairs.bias, pair * heads + head, zero)
                store(target, at, multiply_add(factor, product, bias))
            else:
                store(target, at, multiply(factor, product))
