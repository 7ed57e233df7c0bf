"""What the kernels of attention on a CPU are given, each thing under its name.

All arrays are flat. They come from Python; between compiled functions the same bundles travel
`by_address`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """A matrix whose rows are ``stride`` numbers apart in a flat array.

    A row holds (column, head), the head varying fastest, so that the innermost loops run over
    heads, side by side in a vector register, and no sum crosses lanes.
    """

    data: NDArray[Any]
    stride: int


class Inputs(NamedTuple):
    """What attention reads: a row per receiver, and per sender."""

    query: Rows
    key: Rows
    value: Rows
    terms: Rows  # a row per pair: the bias of the scores, then values; empty for none
    theta: NDArray[Any]  # of dense attention, (head,)
    biased: bool  # whether there are terms


class Results(NamedTuple):
    """What the forward fills."""

    output: Rows  # the columns of the values, then those of the pairs
    log_sum_exp: NDArray[Any]  # (receiver, head): the logarithm of each softmax's denominator


class Gradients(NamedTuple):
    """What the backward is given for the output, and what it fills for all inputs."""

    output: Rows
    query: Rows
    key: Rows
    value: Rows
    terms: Rows
    theta: NDArray[Any]  # by (complex, head)
    by_pair: NDArray[Any]  # room between the turns of receivers and senders; else empty


class Sizes(NamedTuple):
    """The widths of a head, and the number of heads."""

    head_width: int
    value_width: int
    pair_width: int
    heads: int


class Dropout(NamedTuple):
    """A weight is dropped with probability threshold / 2^32, else multiplied by ``factor``."""

    seed: int
    threshold: np.uint32
    factor: float


class Settings(NamedTuple):
    """Of one attention; ``zero`` is as many zeros as a vector register holds heads.

    From Python it comes as a tuple; `in_lanes` makes it a vector, whose type tells the number.
    """

    sizes: Sizes
    scale: float
    dropout: Dropout
    zero: tuple[int, ...]


class Pairs(NamedTuple):
    """A neighborhood in CSR form."""

    offsets: NDArray[Any]
    senders: NDArray[Any]
    weights: NDArray[Any]


class PairsBySender(NamedTuple):
    """The pairs of each sender: their receivers, and their numbers in `Pairs`."""

    offsets: NDArray[Any]
    receivers: NDArray[Any]
    pairs: NDArray[Any]


class PairsBothWays(NamedTuple):
    """The same pairs by receiver and by sender."""

    by_receiver: Pairs
    by_sender: PairsBySender


class Tiles(NamedTuple):
    """Pieces of work: tile t has the receivers ``receivers[receiver_offsets[t]:...[t + 1]]``.

    Its senders likewise. ``work`` adds up the number of pairs of all tiles before, and ``before``
    says of each receiver how many pairs come before its own in the order of the tiles. The kernels
    do the receivers of a tile and then its senders, so that what they read is in the cache.
    """

    work: NDArray[Any]
    before: NDArray[Any]
    receivers: NDArray[Any]
    receiver_offsets: NDArray[Any]
    senders: NDArray[Any]
    sender_offsets: NDArray[Any]


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
