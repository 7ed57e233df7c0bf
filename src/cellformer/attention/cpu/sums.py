"""The inner loops of attention on a CPU: products of rows, and sums of weighted rows.

Four results at a time, in registers: what they share is loaded once, and no addition waits for the
one just before it.
"""

from typing import no_type_check

from cellformer.attention.cpu.compiled import part_of_kernel
from cellformer.attention.cpu.lanes.vectors import (
    add,
    count,
    load,
    multiply,
    multiply_add,
    opaque,
    store,
)


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

    A column of the row is loaded once for all cells that are done together.
    """
    stride, stop = right.stride, width * heads
    for head in range(0, heads, count(zero)):
        start = row * left.stride + head
        to = first + head
        n = 0
        while n + 3 < cells.length:
            j_0 = cells.numbers[n] * stride + head
            j_1 = cells.numbers[n + 1] * stride + head
            j_2 = cells.numbers[n + 2] * stride + head
            j_3 = cells.numbers[n + 3] * stride + head
            sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
            at = 0
            while at < stop:
                column = load(left.data, start + at, zero)
                sum_0 = multiply_add(column, load(right.data, j_0 + at, zero), sum_0)
                sum_1 = multiply_add(column, load(right.data, j_1 + at, zero), sum_1)
                sum_2 = multiply_add(column, load(right.data, j_2 + at, zero), sum_2)
                sum_3 = multiply_add(column, load(right.data, j_3 + at, zero), sum_3)
                at = opaque(at + heads)
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
        while column + 3 < width:
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
