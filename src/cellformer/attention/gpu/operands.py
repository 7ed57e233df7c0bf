"""The arguments of the GPU's operator by their names."""

from typing import NamedTuple

from torch import Tensor


class SparseOperands(NamedTuple):
    """The arguments of the operator ``cellformer::sparse_attention``, in its order.

    Queries, keys and values are (cell, column, head). The transposed pairs, of which all or none
    are given, spare the backward making them.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    offsets: Tensor  # of each receiver's pairs
    senders: Tensor  # of each pair
    weights: Tensor  # of each pair
    transposed_offsets: Tensor | None  # from here on as `TransposedPairs` has them
    transposed_receivers: Tensor | None
    transposed_pairs: Tensor | None
    bias: Tensor | None  # (pair, head)
    pair_value: Tensor | None  # (pair, column, head)
    seed: Tensor | None  # of dropout; one number
    scale: float
    dropout: float
