"""The layers of the paper for hidden states of which a part flips with the orientation of a cell.

*Not in the paper*; see `signed_parts` for the two kinds of columns, x and y. Scores are
``q_x k_x + s q_y k_y`` and values ``v_x`` and ``s v_y``, where s says whether the two cells are
oriented alike (`relative_orientations`). That is attention as ever, over more senders: each stands
in up to three rows, with y, -y and 0, and a pair has the row that its sign chooses.

In dense attention x attends to all cells of the complex; y travels between neighbors alone, by
the same scores and a softmax of its own, as no other pair has a sign.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.attention.arrows import ArrowAttention, ColumnBlock, Shape
from cellformer.attention.operator import attend_arrows
from cellformer.model.layers.aggregation import Gate, adjusted
from cellformer.model.layers.layer import LayerOptions, arriving_at, parts_of, present_arrows
from cellformer.model.layers.signed_parts import (
    Halves,
    SignedFeedForward,
    SignedLinear,
    SignedNorm,
    sender_copies,
)
from cellformer.model.relations.diagram import TensorDiagram
from cellformer.model.relations.pair_terms import Attended, Signed


class SignedOutput(nn.Module):
    """What `OutputProjection` is, for columns [y | x] of arrow after arrow."""

    def __init__(self, options: LayerOptions, arrows: int):
        super().__init__()
        self.sizes = [options.signed_width, options.width] * arrows
        columns = options.received_width
        self.scaling = options.scaling(arrows)
        self.gate = Gate(options.width, columns * arrows) if options.gate else None
        self.linear = None
        if options.output_projection:
            both = (options.width, options.signed_width)
            wide = (options.width * arrows, options.signed_width * arrows)
            self.linear = SignedLinear(wide, both, bias=False)
            for own, width in ((self.linear.invariant, both[0]), (self.linear.flipping, both[1])):
                # Each arrow's part starts as a projection of its own would.
                nn.init.uniform_(own.weight, -(width**-0.5), width**-0.5)

    def forward(
        self,
        received: Float[Tensor, "cell columns"],
        cells: Float[Tensor, "cell width"],
        attended: Sequence[Attended | None],
    ) -> Float[Tensor, "cell both"]:
        """The sum over the arrows, [x | y]; ``cells`` are the x of those that receive."""
        received = adjusted(received, cells, attended, self.scaling, self.gate)
        parts = received.split_with_sizes(self.sizes, dim=1)
        if self.linear is None:
            return Halves(torch.stack(parts[1::2]).sum(0), torch.stack(parts[::2]).sum(0)).joined()
        mapped: Halves = self.linear(Halves(_wide(parts[1::2]), _wide(parts[::2])))
        return mapped.joined()


def _wide(parts: Sequence[Float[Tensor, "cell _"]]) -> Float[Tensor, "cell _"]:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=1)


class SignedPairwiseLayer(nn.Module):
    """What `PairwiseLayer` is, for cells [x | y]."""

    def __init__(
        self,
        diagram: TensorDiagram,
        options: LayerOptions,
        feedforwards: Sequence[SignedFeedForward],
    ):
        super().__init__()
        self.diagram = diagram
        self.options = options
        self.both = both = (options.width, options.signed_width)
        ranks = range(diagram.num_ranks)
        self.norms = nn.ModuleList(SignedNorm(options.norm, options.width) for _ in ranks)
        self.parts = [parts_of(diagram, rank) for rank in ranks]
        self.arriving = [arriving_at(diagram, rank) for rank in ranks]
        self.projections = nn.ModuleDict(
            {
                str(rank): SignedLinear(
                    both, (both[0] * len(parts), both[1] * len(parts)), options.projection_bias
                )
                for rank, parts in enumerate(self.parts)
                if parts
            }
        )
        self.thetas = nn.ParameterDict(options.thetas(diagram))
        self.outputs = nn.ModuleDict(
            {
                str(rank): SignedOutput(options, len(arrows))
                for rank, arrows in enumerate(self.arriving)
                if arrows
            }
        )
        self.dropout = nn.Dropout(options.dropout)
        self.feedforwards = nn.ModuleList(feedforwards)

    def forward(
        self,
        cells: Sequence[Float[Tensor, "_ both"]],
        patterns: Sequence[Signed | None],
        vertices_only: bool = False,
    ) -> list[Float[Tensor, "_ both"]]:
        """The cells of each rank after the layer, as `PairwiseLayer.forward` has them."""
        wanted = range(1 if vertices_only else len(cells))
        present = present_arrows(self.diagram, patterns, wanted)
        arrows = [self.diagram.arrows[number] for number in present]
        receivers = sorted({arrow.receiver for arrow in arrows})
        after, received = list(cells), self.options.received_width
        if arrows:
            ranks = sorted({arrow.sender for arrow in arrows} | {*receivers})
            normed: dict[int, Halves] = {rank: self.norms[rank](cells[rank])[0] for rank in ranks}
            roles = {rank: self._roles(rank, normed[rank]) for rank in ranks}
            matrices: list[Tensor] = []
            attentions: list[ArrowAttention] = []
            for number, arrow in zip(present, arrows, strict=True):
                before = self.arriving[arrow.receiver].index(number)
                attentions += attentions_of(
                    self.options,
                    roles[arrow.receiver][number, "query"],
                    roles[arrow.sender][number, "key"],
                    roles[arrow.sender][number, "value"].x,
                    patterns[number],
                    self.thetas[str(number)] if arrow.dense else None,
                    ColumnBlock(receivers.index(arrow.receiver), before * received),
                    matrices,
                )
            results = attend_arrows(
                matrices,
                attentions,
                [Shape(len(cells[r]), received * len(self.arriving[r])) for r in receivers],
                scale=self.options.scale,
                dropout=self.options.attention_dropout if self.training else 0.0,
            )
            for rank, columns in zip(receivers, results, strict=True):
                own = [patterns[number] for number in self.arriving[rank]]
                output = self.outputs[str(rank)](columns, normed[rank].x, own)
                after[rank] = self.dropout(output).add_(after[rank])
        for rank in wanted:
            after[rank] = self.feedforwards[rank](after[rank])
        return after

    def _roles(self, rank: int, normed: Halves) -> dict[tuple[int, str], Halves]:
        """What the cells of a rank are to each arrow, by its number and their role.

        The y of keys and values are side by side, as they are sent, under the role of the key.
        """
        parts, (width, signed_width) = self.parts[rank], self.both
        projected: Halves = self.projections[str(rank)](normed)
        x = projected.x.split_with_sizes([width] * len(parts), dim=1)
        wide = {"query": signed_width, "key": 2 * signed_width, "value": 0}
        y = projected.y.split_with_sizes([wide[role] for _, role in parts], dim=1)
        return dict(zip(parts, map(Halves, x, y), strict=True))


class SignedGeneralLayer(nn.Module):
    """What `GeneralLayer` is, for cells [x | y]."""

    def __init__(
        self,
        num_ranks: int,
        dense: bool,
        options: LayerOptions,
        feedforward: SignedFeedForward,
    ):
        super().__init__()
        self.options = options
        both = (options.width, options.signed_width)
        self.norm = SignedNorm(options.norm, options.width)
        twice = (2 * both[0], 2 * both[1])
        self.query_key = SignedLinear(both, twice, options.projection_bias)
        self.values = nn.ModuleList(
            SignedLinear(both, both, options.projection_bias) for _ in range(num_ranks)
        )
        self.theta = options.theta() if dense else None
        self.output = SignedOutput(options, 1)
        self.dropout = nn.Dropout(options.dropout)
        self.feedforward = feedforward

    def forward(
        self,
        tokens: Float[Tensor, "cell both"],
        pattern: Signed,
        ranks: Sequence[Float[Tensor, "_ _"]],
    ) -> Float[Tensor, "cell both"]:
        """The cells of all ranks after the layer, as `GeneralLayer.forward` has them."""
        normed, _ = self.norm(tokens)
        sizes = [len(rows) for rows in ranks]
        own = map(Halves, *(rows.split_with_sizes(sizes) for rows in normed))
        values = [project(rows) for project, rows in zip(self.values, own, strict=False)]
        value = Halves(*(torch.cat(rows) for rows in zip(*values, strict=True)))
        query, key = map(Halves, *(rows.chunk(2, dim=1) for rows in self.query_key(normed)))
        sent = Halves(key.x, torch.cat([key.y, value.y], dim=1))
        matrices: list[Tensor] = []
        attentions = attentions_of(
            self.options, query, sent, value.x, pattern, self.theta, ColumnBlock(0, 0), matrices
        )
        (received,) = attend_arrows(
            matrices,
            attentions,
            [Shape(len(tokens), self.options.received_width)],
            scale=self.options.scale,
            dropout=self.options.attention_dropout if self.training else 0.0,
        )
        after = self.dropout(self.output(received, normed.x, [pattern])).add_(tokens)
        return self.feedforward(after)  # type: ignore[no-any-return]


def attentions_of(
    options: LayerOptions,
    query: Halves,
    sent: Halves,
    value: Float[Tensor, "sender width"],
    attended: Signed | None,
    theta: Float[Tensor, " theta"] | None,
    output: ColumnBlock,
    matrices: list[Tensor],
) -> list[ArrowAttention]:
    """The attention along an arrow, to columns [y | x] from ``output`` on.

    ``sent`` has the x of the keys, and side by side the y of keys and values; ``value`` is the x of
    the values. Dense attention is two of them. What they read is added to ``matrices``.
    """
    assert attended is not None
    pairs, heads, first = attended.neighborhood, options.heads, len(matrices)
    width, signed_width = options.width // heads, options.signed_width // heads
    copied = sender_copies(*sent, None if attended.dense else value, pairs.copies)
    matrices += [query.joined(), copied]
    both = width + signed_width
    alone = ArrowAttention(
        ColumnBlock(first, 0),
        ColumnBlock(first + 1, 0),
        ColumnBlock(first + 1, both * heads),
        output,
        both,
        signed_width if attended.dense else both,
        heads,
        pairs,
    )
    if not attended.dense:
        return [alone]
    matrices += [query.x, sent.x, value]
    of_all = ArrowAttention(
        ColumnBlock(first + 2, 0),
        ColumnBlock(first + 3, 0),
        ColumnBlock(first + 4, 0),
        ColumnBlock(output.matrix, output.start + options.signed_width),
        width,
        width,
        heads,
        attended.pattern,
        theta,
    )
    return [of_all, alone]
