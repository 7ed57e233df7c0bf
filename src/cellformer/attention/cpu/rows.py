"""What the kernels of attention on a CPU share: their inner loops over rows.

Rows are shared out between threads in runs of like work, and one thread adds up one row, so that
the result is the same for any number of threads.
"""

from typing import Any, NamedTuple, no_type_check

from numpy.typing import NDArray

from cellformer.attention.cpu.bundles import Rows, Settings
from cellformer.attention.cpu.compiled import part_of_kernel
from cellformer.attention.cpu.lanes.addresses import beyond
from cellformer.attention.cpu.lanes.vectors import (
    count,
    load,
    multiply,
    multiply_add,
    prefetch,
    splat,
    store,
    zeros,
)
from cellformer.attention.cpu.sums import products

LINE = 16  # numbers of float32 in a line of the cache
NEAR = 32768  # numbers, of one matrix, that are fetched ahead


class Cells(NamedTuple):
    """The numbers of ``length`` cells, one after the other in an array."""

    numbers: NDArray[Any]
    length: int


class Fetched(NamedTuple):
    """The matrices of which rows are fetched ahead: with a query's width by receiver, and so on."""

    queries: tuple[Rows, ...]
    keys: tuple[Rows, ...]
    values: tuple[Rows, ...]
    outputs: tuple[Rows, ...]


@part_of_kernel
@no_type_check
def in_lanes(settings, numbers):
    """The same with zeros in a vector, of the type of the numbers."""
    return Settings(settings.sizes, settings.scale, settings.dropout, zeros(numbers, settings.zero))


@part_of_kernel
@no_type_check
def row_at(rows, number):
    """Where a row starts."""
    return beyond(rows.data, number * rows.stride)


@part_of_kernel
@no_type_check
def values_from(terms, pair, heads):
    """The values of the pairs from one on, which stand beside the biases."""
    return Rows(beyond(row_at(terms, pair), heads), terms.stride)


@part_of_kernel
@no_type_check
def cells_between(numbers, offsets, place):
    """Those from one offset to the next."""
    return Cells(beyond(numbers, offsets[place]), offsets[place + 1] - offsets[place])


@part_of_kernel
@no_type_check
def fetch(cells, share, shares, width, matrices):
    """Has the row of a cell brought near, with the last share all that are left.

    One at a time between the work on others: the memory would not keep up with all at once. Not
    if all of them together are too many.
    """
    if cells.length * width > NEAR:
        return
    end = share + 1 if share + 1 < shares else cells.length
    for n in range(share, min(end, cells.length)):
        for rows in matrices:
            start = cells.numbers[n] * rows.stride
            for at in range(start, start + width, LINE):
                prefetch(rows.data, at)


@part_of_kernel
@no_type_check
def fetch_share(pieces, number, share, shares, sizes, fetched):
    """Has a share of the rows of a tile or a complex brought near."""
    senders = cells_between(pieces.senders, pieces.sender_offsets, number)
    receivers = cells_between(pieces.receivers, pieces.receiver_offsets, number)
    fetch(senders, share, shares, sizes.head_width * sizes.heads, fetched.keys)
    fetch(senders, share, shares, sizes.value_width * sizes.heads, fetched.values)
    fetch(receivers, share, shares, sizes.head_width * sizes.heads, fetched.queries)
    received = (sizes.value_width + sizes.pair_width) * sizes.heads
    fetch(receivers, share, shares, received, fetched.outputs)


@part_of_kernel
@no_type_check
def run_of_rows(offsets, part, parts):
    """The first row of a part and of the next one; a row's work is its pairs and 1."""
    rows = len(offsets) - 1
    work = offsets[rows] + rows
    return (
        _first_row(offsets, work * part // parts),
        _first_row(offsets, work * (part + 1) // parts),
    )


@part_of_kernel
@no_type_check
def _first_row(offsets, work):
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
def scores(receiver, inputs, pairs, settings, target):
    """Sets the scores (pair, head) of a receiver's pairs."""
    sizes, zero = settings.sizes, settings.zero
    heads, step = sizes.heads, count(zero)
    cells, first = cells_between(pairs.senders, pairs.offsets, receiver), pairs.offsets[receiver]
    query, one = row_at(inputs.query, receiver), splat(1.0, zero)
    products(query, inputs.key, cells, one, target, sizes.head_width, heads, zero)
    for n in range(cells.length):
        factor = splat(settings.scale * pairs.weights[first + n], zero)
        for head in range(0, heads, step):
            at = n * heads + head
            product = load(target, at, zero)
            if inputs.biased:
                bias = load(inputs.terms.data, (first + n) * inputs.terms.stride + head, zero)
                store(target, at, multiply_add(factor, product, bias))
            else:
                store(target, at, multiply(factor, product))
