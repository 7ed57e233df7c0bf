"""The inner loops of attention on a CPU: products of rows, and sums of weighted rows.

Four results at a time, in registers: what they share is loaded once, and no addition waits for the
one just before it.
"""

from typing import no_type_check

from cellformer.attention.cpu.bundles import Rows
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
def products(row, right, cells, factor, target, width, heads, zero):
    """Sets the products (cell, head) of a row with the rows of the cells.

    A column of the row is loaded once for all cells that are done together.
    """
    stride, stop = right.stride, width * heads
    for head in range(0, heads, count(zero)):
        to = head
        n = 0
        while n + 3 < cells.length:
            j_0 = cells.numbers[n] * stride + head
            j_1 = cells.numbers[n + 1] * stride + head
            j_2 = cells.numbers[n + 2] * stride + head
            j_3 = cells.numbers[n + 3] * stride + head
            sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
            at = 0
            while at < stop:
                column = load(row, head + at, zero)
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
            product = dot(row, head, right.data, j, width, heads, zero)
            store(target, to, multiply(factor, product))
            to += heads
            n += 1


@part_of_kernel
@no_type_check
def weighted_sum(target, source, cells, weights, width, heads, zero):
    """Sets a row to the sum of the cells' rows, each times its weights, (cell, head)."""
    sums_of_rows(target, source, cells, Rows(weights, heads), width, heads, zero, False)


@part_of_kernel
@no_type_check
def own_sum(target, source, count_of_rows, weights, width, heads, zero):
    """`weighted_sum` of the first rows, each times its own weights, (row, head)."""
    for head in range(0, heads, count(zero)):
        for column in range(width):
            at = column * heads + head
            total, w, i = zero, head, at
            for _ in range(count_of_rows):
                total = multiply_add(load(weights, w, zero), load(source.data, i, zero), total)
                w += heads
                i += source.stride
            store(target, at, total)


@part_of_kernel
@no_type_check
def sums_of_rows(target, source, cells, weights, width, heads, zero, onto):
    """`weighted_sum` for a row of weights per cell, on top of what the target holds if ``onto``."""
    for head in range(0, heads, count(zero)):
        column = 0
        while column + 3 < width:
            at = column * heads + head
            sum_0, sum_1, sum_2, sum_3 = zero, zero, zero, zero
            if onto:
                sum_0 = load(target, at, zero)
                sum_1 = load(target, at + heads, zero)
                sum_2 = load(target, at + 2 * heads, zero)
                sum_3 = load(target, at + 3 * heads, zero)
            w = head
            for n in range(cells.length):
                weight = load(weights.data, w, zero)
                w += weights.stride
                i = cells.numbers[n] * source.stride + at
                sum_0 = multiply_add(weight, load(source.data, i, zero), sum_0)
                sum_1 = multiply_add(weight, load(source.data, i + heads, zero), sum_1)
                sum_2 = multiply_add(weight, load(source.data, i + 2 * heads, zero), sum_2)
                sum_3 = multiply_add(weight, load(source.data, i + 3 * heads, zero), sum_3)
            store(target, at, sum_0)
            store(target, at + heads, sum_1)
            store(target, at + 2 * heads, sum_2)
            store(target, at + 3 * heads, sum_3)
            column += 4
        while column < width:
            at = column * heads + head
            total = load(target, at, zero) if onto else zero
            w = head
            for n in range(cells.length):
                i = cells.numbers[n] * source.stride + at
                total = multiply_add(load(weights.data, w, zero), load(source.data, i, zero), total)
                w += weights.stride
            store(target, at, total)
            column += 1
