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

from cellformer.attention.cpu.compiled import part_of_kernel
from cellformer.attention.cpu.lanes.vectors import (
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
from cellformer.attention.cpu.sums import products

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


class PairsBySender(NamedTuple):
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
def fetch_share(pieces, number, share, shares, sizes, keys, values, queries, outputs):
    """Has a share of the rows of a tile or a complex brought near, of the matrices of each kind."""
    senders = cells_between(pieces.senders, pieces.sender_offsets, number)
    receivers = cells_between(pieces.receivers, pieces.receiver_offsets, number)
    fetch(senders, share, shares, sizes.head_width * sizes.heads, keys)
    fetch(senders, share, shares, sizes.value_width * sizes.heads, values)
    fetch(receivers, share, shares, sizes.head_width * sizes.heads, queries)
    fetch(receivers, share, shares, sizes.value_width * sizes.heads, outputs)


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
