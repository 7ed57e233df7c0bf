"""The transformer layers of the paper, appendix "Architecture details and experiments"."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.attention.arrows import ArrowAttention, ColumnBlock, Pattern, Shape
from cellformer.attention.operator import attend_arrows
from cellformer.model.config import DegreeScaling, Norm
from cellformer.model.layers.aggregation import Gate, ScalingByDegree, adjusted
from cellformer.model.layers.norms import norm_of
from cellformer.model.layers.signed_parts import SignedFeedForward
from cellformer.model.relations.diagram import TensorDiagram
from cellformer.model.relations.pair_terms import Attended, Paired, PairTerms, Signed

Layers: TypeAlias = nn.ModuleList | Sequence[nn.Module]


@dataclass(frozen=True)
class LayerOptions:
    """What the layers of a model have in common.

    *Deviation from the letter*: scores may be divided by the square root of the head width, and
    an output projection may follow, as in the authors' code. The projection has no bias, so that
    a cell without neighbors receives exactly zero. Where pairs of cells are described, by vectors
    of ``pair_width`` columns, each head receives ``pair_values`` columns from them. Where
    ``signed_width`` is not 0, cells have so many columns beside the others that flip with their
    orientation. Raises ValueError if the heads do not divide the width.
    """

    width: int
    heads: int
    inner_width: int
    theta_per_head: bool
    scale_scores: bool
    output_projection: bool
    projection_bias: bool
    attention_dropout: float
    dropout: float
    pair_width: int = 0
    pair_values: int = 0
    norm: Norm = "layer"
    degree_scaling: DegreeScaling = "none"
    gate: bool = False
    signed_width: int = 0

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width ({self.width}) must be a multiple of heads ({self.heads})")

    @property
    def scale(self) -> float:
        """What products of queries and keys are multiplied by."""
        head_width = (self.width + self.signed_width) // self.heads
        return head_width**-0.5 if self.scale_scores else 1.0

    @property
    def received_width(self) -> int:
        """The columns that a cell receives along one arrow."""
        own = self.width + self.signed_width
        return own + self.heads * (self.pair_values if self.pair_width else 0)

    def theta(self) -> nn.Parameter | None:
        """The factor of N in the scores of dense attention, at first 1.

        None where pairs are described, by N among other things.
        """
        if self.pair_width:
            return None
        return nn.Parameter(torch.ones(self.heads if self.theta_per_head else 1))

    def thetas(self, diagram: TensorDiagram) -> dict[str, nn.Parameter]:
        """Those of the dense arrows of a diagram, by their numbers."""
        return {
            str(number): theta
            for number, arrow in enumerate(diagram.arrows)
            if arrow.dense and (theta := self.theta()) is not None
        }

    def pair_terms(self) -> PairTerms | None:
        """What one arrow makes of the pairs; None where they are not described."""
        if not self.pair_width:
            return None
        return PairTerms(self.pair_width, self.heads, self.pair_values)

    def feedforward(self) -> "FeedForward":
        """A feed-forward block, for cells without columns that flip with orientation."""
        return FeedForward(self.width, self.inner_width, self.dropout, self.norm)

    def signed_feedforward(self) -> SignedFeedForward:
        """A feed-forward block for cells that have such columns."""
        return SignedFeedForward(
            self.width, self.signed_width, self.inner_width, self.dropout, self.norm
        )

    def scaling(self, arrows: int, shares: int = 1) -> ScalingByDegree | None:
        """What scales that which is received along so many arrows, if anything does.

        Along each arrow every share of the columns has a number of neighbors of its own.
        """
        if self.degree_scaling == "none":
            return None
        return ScalingByDegree(self.received_width // shares, arrows * shares, self.degree_scaling)

    def arrow(
        self,
        query: ColumnBlock,
        key: ColumnBlock,
        value: ColumnBlock,
        output: ColumnBlock,
        attended: Attended,
        theta: Float[Tensor, " theta"] | None,
        terms: nn.Module | None,
    ) -> ArrowAttention:
        """One attention between these columns; ``terms`` belong to pairs that are described."""
        head_width = self.width // self.heads
        pattern: Pattern
        if isinstance(attended, Paired):
            assert terms is not None
            pattern, own = attended.neighborhood, terms(attended.vectors)
        else:
            assert not isinstance(attended, Signed)
            pattern, own = attended, None
        return ArrowAttention(
            query, key, value, output, head_width, head_width, self.heads, pattern, theta, own
        )


class OutputProjection(nn.Module):
    """One product for what a rank receives along all its arrows, whose results add up.

    Columns are arrow after arrow. Without an output projection, what is received is added up as
    it is. Before that, it may be scaled by the number of neighbors, and gated. Where heads do not
    attend to the same cells, the columns of an arrow are ``shares`` of equal size.
    """

    def __init__(self, options: LayerOptions, arrows: int, shares: int = 1):
        super().__init__()
        self.arrows = arrows
        columns, projected = options.received_width, options.output_projection
        self.scaling = options.scaling(arrows, shares)
        self.gate = Gate(options.width, columns * arrows) if options.gate else None
        self.linear = nn.Linear(columns * arrows, options.width, bias=False) if projected else None
        if self.linear is not None:
            # Each arrow's part starts as a projection of its own would.
            nn.init.uniform_(self.linear.weight, -(columns**-0.5), columns**-0.5)

    def forward(
        self,
        received: Float[Tensor, "cell columns"],
        cells: Float[Tensor, "cell width"],
        attended: Sequence[Attended | None],
    ) -> Float[Tensor, "cell width"]:
        """The sum over the arrows, of which each share has what was attended to, if anything was.

        ``cells`` are those that receive, after the norm.
        """
        received = adjusted(received, cells, attended, self.scaling, self.gate)
        if self.linear is None:
            width = received.shape[1] // self.arrows
            return received.view(len(received), self.arrows, width).sum(dim=1)
        projected: Tensor = self.linear(received)
        return projected


class FeedForward(nn.Module):
    """Steps 5 and 6: layer norm, two linear maps with a ReLU between them, and the residual."""

    def __init__(self, width: int, inner_width: int, dropout: float, norm: Norm = "layer"):
        super().__init__()
        self.norm = norm_of(norm, width)
        self.inner = nn.Linear(width, inner_width)
        self.outer = nn.Linear(inner_width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, cells: Float[Tensor, "cell width"]) -> Float[Tensor, "cell width"]:
        """The cells after the residual."""
        # In place where the result of a product is needed by nothing else: large sets are bound
        # by the memory that they read and write.
        inner = self.dropout(self.inner(self.norm(cells)).relu_())
        after: Tensor = self.dropout(self.outer(inner)).add_(cells)
        return after


class PairwiseLayer(nn.Module):
    """One attention per arrow, summed into the residual of the receiving rank.

    ``feedforwards`` belong to the ranks 0 ... max_rank. All queries, keys and values of a rank
    are the columns of one matrix product, and all that it receives are the columns that enter
    another one.
    """

    def __init__(
        self, diagram: TensorDiagram, options: LayerOptions, feedforwards: Sequence[FeedForward]
    ):
        super().__init__()
        self.diagram = diagram
        self.options = options
        width = options.width
        self.norms = nn.ModuleList(norm_of(options.norm, width) for _ in range(diagram.num_ranks))
        self.parts = [parts_of(diagram, rank) for rank in range(diagram.num_ranks)]
        self.arriving = [arriving_at(diagram, rank) for rank in range(diagram.num_ranks)]
        self.projections = nn.ModuleDict(
            {
                str(rank): nn.Linear(width, width * len(parts), bias=options.projection_bias)
                for rank, parts in enumerate(self.parts)
                if parts
            }
        )
        self.thetas = nn.ParameterDict(options.thetas(diagram))
        self.terms = nn.ModuleDict(
            {
                str(number): terms
                for number in range(len(diagram.arrows))
                if (terms := options.pair_terms()) is not None
            }
        )
        self.outputs = nn.ModuleDict(
            {
                str(rank): OutputProjection(options, len(arrows))
                for rank, arrows in enumerate(self.arriving)
                if arrows
            }
        )
        self.dropout = nn.Dropout(options.dropout)
        self.feedforwards = nn.ModuleList(feedforwards)

    def forward(
        self,
        cells: Sequence[Float[Tensor, "_ width"]],
        patterns: Sequence[Attended | None],
        vertices_only: bool = False,
    ) -> list[Float[Tensor, "_ width"]]:
        """The cells of each rank after the layer; ``patterns`` belong to the arrows.

        With ``vertices_only``, as for the last layer before a readout of vertices, the other
        ranks stay as they are.
        """
        wanted = range(1 if vertices_only else len(cells))
        present = present_arrows(self.diagram, patterns, wanted)
        arrows = [self.diagram.arrows[number] for number in present]
        senders = sorted({arrow.sender for arrow in arrows} | {arrow.receiver for arrow in arrows})
        receivers = sorted({arrow.receiver for arrow in arrows})
        after, received = list(cells), self.options.received_width
        if arrows:
            normed = {rank: self.norms[rank](cells[rank]) for rank in senders}
            results = attend_arrows(
                [self.projections[str(rank)](normed[rank]) for rank in senders],
                [self._arrow(number, patterns[number], senders, receivers) for number in present],
                [Shape(len(cells[r]), received * len(self.arriving[r])) for r in receivers],
                scale=self.options.scale,
                dropout=self.options.attention_dropout if self.training else 0.0,
            )
            for rank, columns in zip(receivers, results, strict=True):
                own = [patterns[number] for number in self.arriving[rank]]
                output = self.outputs[str(rank)](columns, normed[rank], own)
                after[rank] = self.dropout(output).add_(after[rank])
        for rank in wanted:
            after[rank] = self.feedforwards[rank](after[rank])
        return after

    def _arrow(
        self,
        number: int,
        pattern: Attended | None,
        senders: Sequence[int],
        receivers: Sequence[int],
    ) -> ArrowAttention:
        """An arrow between the matrices of these ranks."""
        assert pattern is not None
        arrow, width = self.diagram.arrows[number], self.options.width

        def columns(role: str, rank: int) -> ColumnBlock:
            return ColumnBlock(senders.index(rank), self.parts[rank].index((number, role)) * width)

        before = self.arriving[arrow.receiver].index(number)
        name = str(number)
        return self.options.arrow(
            columns("query", arrow.receiver),
            columns("key", arrow.sender),
            columns("value", arrow.sender),
            ColumnBlock(receivers.index(arrow.receiver), before * self.options.received_width),
            pattern,
            self.thetas[name] if arrow.dense and not self.options.pair_width else None,
            self.terms[name] if self.options.pair_width else None,
        )


def present_arrows(
    diagram: TensorDiagram, patterns: Sequence[Attended | None], wanted: Sequence[int]
) -> list[int]:
    """The numbers of the arrows to wanted ranks that a batch has."""
    return [
        number
        for number, (arrow, pattern) in enumerate(zip(diagram.arrows, patterns, strict=True))
        if pattern is not None and arrow.receiver in wanted
    ]


def arriving_at(diagram: TensorDiagram, rank: int) -> list[int]:
    """The numbers of the arrows that reach a rank."""
    return [number for number, arrow in enumerate(diagram.arrows) if arrow.receiver == rank]


def parts_of(diagram: TensorDiagram, rank: int) -> list[tuple[int, str]]:
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
        self, num_ranks: int, dense: bool, options: LayerOptions, feedforward: FeedForward
    ):
        super().__init__()
        self.options = options
        width, bias = options.width, options.projection_bias
        self.norm = norm_of(options.norm, width)
        self.query_key = nn.Linear(width, 2 * width, bias=bias)
        self.values = nn.ModuleList(nn.Linear(width, width, bias=bias) for _ in range(num_ranks))
        self.theta = options.theta() if dense else None
        self.terms = options.pair_terms()
        self.output = OutputProjection(options, 1)
        self.dropout = nn.Dropout(options.dropout)
        self.feedforward = feedforward

    def forward(
        self,
        tokens: Float[Tensor, "cell width"],
        pattern: Attended,
        ranks: Sequence[Float[Tensor, "_ _"]],
    ) -> Float[Tensor, "cell width"]:
        """The cells of all ranks after the layer, rank after rank.

        ``ranks`` has a matrix with as many rows as there are cells, for each rank. (Not the numbers
        themselves: torch.compile would make a graph for each of them.)
        """
        normed = self.norm(tokens)
        own = normed.split([len(rows) for rows in ranks])
        values = [project(rows) for project, rows in zip(self.values, own, strict=False)]
        width = self.options.width
        arrow = self.options.arrow(
            ColumnBlock(0, 0),
            ColumnBlock(0, width),
            ColumnBlock(1, 0),
            ColumnBlock(0, 0),
            pattern,
            self.theta,
            self.terms,
        )
        (received,) = attend_arrows(
            [self.query_key(normed), torch.cat(values)],
            [arrow],
            [Shape(len(tokens), self.options.received_width)],
            scale=self.options.scale,
            dropout=self.options.attention_dropout if self.training else 0.0,
        )
        after = self.dropout(self.output(received, normed, [pattern])).add_(tokens)
        return self.feedforward(after)  # type: ignore[no-any-return]
