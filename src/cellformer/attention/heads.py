"""Heads last: the layout in which attention reads queries, keys and values."""

from jaxtyping import Float
from torch import Tensor


def split_heads(
    cells: Float[Tensor, "cell width"], heads: int
) -> Float[Tensor, "cell head_width head"]:
    """Splits the columns into heads, the head varying fastest, without moving data."""
    return cells.view(len(cells), cells.shape[1] // heads, heads)


def merge_heads(
    cells: Float[Tensor, "cell head_width head"],
) -> Float[Tensor, "cell width"]:
    """The inverse of `split_heads`."""
    return cells.flatten(1)
