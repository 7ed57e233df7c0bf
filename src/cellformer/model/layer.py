"""The transformer layers of the paper, appendix "Architecture details and experiments"."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.attention.heads import merge_heads, split_heads
from cellformer.attention.operator import Pattern, attend
from cellformer.model.diagram import TensorDiagram


class Attention(nn.Module):
    """Multi-head attention after the projections: heads, theta, output projection, dropout.

    *Deviation from the letter*: scores may be divided by the square root of the head width, and
    an output projection may follow, as in the authors' code. The projection has no bias, so that
    a cell without neighbors receives exactly zero.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        dense: bool,
        theta_per_head: bool,
        scale_scores: bool,
        output_projection: bool,
        attention_dropout: float,
        dropout: float,
    ):
        super().__init__()
        if width % heads:
            raise ValueError(f"width ({width}) must be a multiple of heads ({heads})")
        self.heads = heads
        self.scale = (width // heads) ** -0.5 if scale_scores else 1.0
        self.theta = nn.Parameter(torch.ones(heads if theta_per_head else 1)) if dense else None
        self.output = nn.Linear(width, width, bias=False) if output_projection else nn.Identity()
        self.attention_dropout = attention_dropout
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        query: Float[Tensor, "receiver width"],
        key: Float[Tensor, "sender width"],
        value: Float[Tensor, "sender width"],
        pattern: Pattern,
    ) -> Float[Tensor, "receiver width"]:
        """What each receiver gets."""
        received = attend(
            split_heads(query, self.heads),
            split_heads(key, self.heads),
            split_heads(value, self.heads),
            pattern,
            theta=self.theta,
            scale=self.scale,
            dropout=self.attention_dropout if self.training else 0.0,
        )
        projected: Tensor = self.dropout(self.output(merge_heads(received)))
        return projected


class FeedForward(nn.Module):
    """Steps 5 and 6: layer norm, two linear maps with a ReLU between them, and the residual."""

    def __init__(self, width: int, inner_width: int, dropout: float):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, inner_width)
        self.outer = nn.Linear(inner_width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, cells: Float[Tensor, "cell width"]) -> Float[Tensor, "cell width"]:
        """The cells after the residual."""
        inner = self.dropout(self.inner(self.norm(cells)).relu())
        after: Tensor = cells + self.dropout(self.outer(inner))
        return after


class PairwiseLayer(nn.Module):
    """One attention per arrow, summed into the residual of the receiving rank.

    ``attentions`` belong to the diagram's arrows, ``feedforwards`` to the ranks 0 ... max_rank.
    All queries, keys and values of a rank are the columns of one matrix product.
    """

    def __init__(
        self,
        diagram: TensorDiagram,
        width: int,
        attentions: Sequence[Attention],
        feedforwards: Sequence[FeedForward],
        projection_bias: bool = True,
    ):
        super().__init__()
        self.diagram = diagram
        self.width = width
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in feedforwards)
        self.parts = [_parts(diagram, rank) for rank in range(diagram.num_ranks)]
        self.projections = nn.ModuleDict(
            {
                str(rank): nn.Linear(width, width * len(parts), bias=projection_bias)
                for rank, parts in enumerate(self.parts)
                if parts
            }
        )
        self.attentions = nn.ModuleList(attentions)
        self.feedforwards = nn.ModuleList(feedforwards)

    def forward(
        self, cells: Sequence[Float[Tensor, "_ width"]], patterns: Sequence[Pattern | None]
    ) -> list[Float[Tensor, "_ width"]]:
        """The cells of each rank after the layer; ``patterns`` belong to the arrows."""
        projected = self._project(cells)
        received = list(cells)
        for number, (arrow, attention, pattern) in enumerate(
            zip(self.diagram.arrows, self.attentions, patterns, strict=True)
        ):
            if pattern is not None:
                query, key, value = (projected[number, role] for role in ("query", "key", "value"))
                received[arrow.receiver] = received[arrow.receiver] + attention(
                    query, key, value, pattern
                )
        return [
            feedforward(rows)
            for feedforward, rows in zip(self.feedforwards, received, strict=False)
        ]

    def _project(
        self, cells: Sequence[Float[Tensor, "_ width"]]
    ) -> dict[tuple[int, str], Float[Tensor, "_ width"]]:
        """The query, key and value of each arrow."""
        projected: dict[tuple[int, str], Tensor] = {}
        for rank, (rows, norm, parts) in enumerate(
            zip(cells, self.norms, self.parts, strict=False)
        ):
            if parts:
                columns = self.projections[str(rank)](norm(rows)).split(self.width, dim=1)
                projected.update(zip(parts, columns, strict=True))
        return projected


def _parts(diagram: TensorDiagram, rank: int) -> list[tuple[int, str]]:
    """What the cells of a rank are to each arrow: (number of the arrow, role)."""
    parts = []
    for number, arrow in enumerate(diagram.arrows):
        if arrow.receiver == rank:
            parts.append((number, "query"))
        if arrow.sender == rank:
            parts += [(number, "key"), (number, "value")]
    return parts


class GeneralLayer(nn.Module):
    """One attention over the cells of all ranks: shared queries and keys, values per rank."""

    def __init__(
        self,
        num_ranks: int,
        width: int,
        attention: Attention,
        feedforward: FeedForward,
        projection_bias: bool = True,
    ):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.query_key = nn.Linear(width, 2 * width, bias=projection_bias)
        self.values = nn.ModuleList(
            nn.Linear(width, width, bias=projection_bias) for _ in range(num_ranks)
        )
        self.attention = attention
        self.feedforward = feedforward

    def forward(
        self, cells: Sequence[Float[Tensor, "_ width"]], patterns: Sequence[Pattern | None]
    ) -> list[Float[Tensor, "_ width"]]:
        """The cells of each rank after the layer; there is one pattern, over all cells."""
        (pattern,) = patterns
        counts = [len(rows) for rows in cells]
        tokens = torch.cat(list(cells))
        normed = self.norm(tokens)
        query, key = self.query_key(normed).chunk(2, dim=1)
        value = torch.cat(
            [
                project(rows)
                for project, rows in zip(self.values, normed.split(counts), strict=False)
            ]
        )
        received = tokens + self.attention(query, key, value, pattern)
        return list(self.feedforward(received).split(counts))
