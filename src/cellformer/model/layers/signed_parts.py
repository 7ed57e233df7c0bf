"""What layers are made of that keep hidden states which flip with the orientation of their cell.

*Not in the paper.* A cell has columns x, which do not know its orientation, and columns y, which
are negated where it is reversed; both stand side by side, [x | y]. Nothing here mixes them so that
this would no longer hold: linear maps of y have no constant, y is scaled by what x says, and x
learns of y by products and sizes.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.model.config import Norm
from cellformer.model.layers.norms import norm_of

SOFT = 1e-2
"""Added to the mean square of y before its root: what nearly vanishes stays small."""


class Halves(NamedTuple):
    """Columns that do not know the orientation of a cell, and columns that flip with it."""

    x: Float[Tensor, "cell _"]
    y: Float[Tensor, "cell _"]

    def joined(self) -> Float[Tensor, "cell _"]:
        """Both side by side."""
        return torch.cat(self, dim=1)


def halves(cells: Float[Tensor, "cell _"], width: int) -> Halves:
    """The first columns, of this number, and the others."""
    return Halves(*cells.split_with_sizes([width, cells.shape[1] - width], dim=1))


def sender_copies(
    key: Float[Tensor, "sender key"],
    flipping: Float[Tensor, "sender flipping"],
    value: Float[Tensor, "sender value"] | None,
    copies: int,
) -> Float[Tensor, "copy column"]:
    """The rows [key | y | value], [key | -y | value], [key | 0 | value] of every sender.

    As many of these as there are copies; see `Neighborhood.in_copies`.
    """
    rest = [] if value is None else [value]
    signed = (
        [flipping, -flipping, torch.zeros_like(flipping)][:copies] if copies > 1 else [flipping]
    )
    rows = torch.cat([part for own in signed for part in (key, own, *rest)], dim=1)
    return rows.view(len(key) * copies, rows.shape[1] // copies)


class SignedNorm(nn.Module):
    """A norm of x, and y divided by the root of its mean square."""

    def __init__(self, kind: Norm, width: int):
        super().__init__()
        self.width = width
        self.invariant = norm_of(kind, width)

    def forward(self, cells: Float[Tensor, "cell both"]) -> tuple[Halves, Float[Tensor, "cell 1"]]:
        """Both, and that mean square."""
        x, y = halves(cells, self.width)
        square = y.square().mean(dim=1, keepdim=True)
        return Halves(self.invariant(x), y * (square + SOFT).rsqrt()), square


class SignedLinear(nn.Module):
    """A linear map of x, and one of y that has no constant."""

    def __init__(self, before: tuple[int, int], after: tuple[int, int], bias: bool):
        super().__init__()
        self.invariant = nn.Linear(before[0], after[0], bias=bias)
        self.flipping = nn.Linear(before[1], after[1], bias=False)

    def forward(self, cells: Halves) -> Halves:
        """Both mapped."""
        return Halves(self.invariant(cells.x), self.flipping(cells.y))


class SignedFeedForward(nn.Module):
    """What `FeedForward` is, for [x | y].

    Beside x, normed, its inner layer reads products (A u) (B u), column by column, where u is y,
    normed, and log(1 + m), where m is the mean square of y. From the inner columns comes what is
    added to x, and a gate g for each column of y, to which g C u is added.
    """

    def __init__(
        self, width: int, signed_width: int, inner_width: int, dropout: float, norm: Norm = "layer"
    ):
        super().__init__()
        self.sizes = [width, signed_width]
        self.norm = SignedNorm(norm, width)
        self.factors = nn.Linear(signed_width, 3 * signed_width, bias=False)
        self.inner = nn.Linear(width + signed_width + 1, inner_width)
        self.outer = nn.Linear(inner_width, width + signed_width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, cells: Float[Tensor, "cell both"]) -> Float[Tensor, "cell both"]:
        """The cells after the residual."""
        normed, square = self.norm(cells)
        one, other, sent = self.factors(normed.y).chunk(3, dim=1)
        known = torch.cat([normed.x, one * other, square.log1p()], dim=1)
        inner = self.dropout(self.inner(known).relu_())
        added, gates = self.outer(inner).split_with_sizes(self.sizes, dim=1)
        after = torch.cat([added, sent * gates.sigmoid()], dim=1)
        return self.dropout(after).add_(cells)  # type: ignore[no-any-return]
