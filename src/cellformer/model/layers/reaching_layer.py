"""A layer of general attention whose heads do not all attend to the same cells."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cellformer.attention.arrows import ArrowAttention, ColumnBlock, Shape
from cellformer.attention.operator import attend_arrows
from cellformer.model.layers.layer import FeedForward, LayerOptions, OutputProjection
from cellformer.model.layers.norms import norm_of
from cellformer.model.relations.pair_terms import Attended


class HeadGroup(NamedTuple):
    """Heads of one layer that attend to the same cells, of so many shares of all heads."""

    shares: int
    heads: int
    dense: bool


class ReachingLayer(nn.Module):
    """`GeneralLayer` with a softmax for each group of heads, in columns of their own."""

    def __init__(
        self,
        num_ranks: int,
        groups: Sequence[HeadGroup],
        options: LayerOptions,
        feedforward: FeedForward,
    ):
        super().__init__()
        self.options, self.groups = options, tuple(groups)
        width, bias = options.width, options.projection_bias
        self.own = [
            replace(options, width=width // options.heads * group.heads, heads=group.heads)
            for group in groups
        ]
        self.norm = norm_of(options.norm, width)
        self.query_key = nn.Linear(width, 2 * width, bias=bias)
        self.values = nn.ModuleList(nn.Linear(width, width, bias=bias) for _ in range(num_ranks))
        self.thetas = nn.ParameterList(
            theta
            for group, own in zip(groups, self.own, strict=True)
            if group.dense and (theta := own.theta()) is not None
        )
        self.terms = nn.ModuleList(
            terms for own in self.own if (terms := own.pair_terms()) is not None
        )
        self.output = OutputProjection(options, 1, sum(group.shares for group in groups))
        self.dropout = nn.Dropout(options.dropout)
        self.feedforward = feedforward

    def forward(
        self,
        tokens: Float[Tensor, "cell width"],
        patterns: Sequence[Attended],
        ranks: Sequence[Float[Tensor, "_ _"]],
    ) -> Float[Tensor, "cell width"]:
        """The cells of all ranks after the layer, as `GeneralLayer` has them.

        There is one pattern for each group of heads.
        """
        normed = self.norm(tokens)
        own = normed.split([len(rows) for rows in ranks])
        values = [project(rows) for project, rows in zip(self.values, own, strict=False)]
        (received,) = attend_arrows(
            [self.query_key(normed), torch.cat(values)],
            self._arrows(patterns),
            [Shape(len(tokens), self.options.received_width)],
            scale=self.options.scale,
            dropout=self.options.attention_dropout if self.training else 0.0,
        )
        by_share = [
            pattern
            for group, pattern in zip(self.groups, patterns, strict=True)
            for _ in range(group.shares)
        ]
        after = self.dropout(self.output(received, normed, by_share)).add_(tokens)
        return self.feedforward(after)  # type: ignore[no-any-return]

    def _arrows(self, patterns: Sequence[Attended]) -> list[ArrowAttention]:
        """One attention for each group of heads, in columns side by side."""
        arrows, start, output = [], 0, 0
        thetas = iter(self.thetas)
        for number, (group, own) in enumerate(zip(self.groups, self.own, strict=True)):
            arrows.append(
                own.arrow(
                    ColumnBlock(0, start),
                    ColumnBlock(0, self.options.width + start),
                    ColumnBlock(1, start),
                    ColumnBlock(0, output),
                    patterns[number],
                    next(thetas, None) if group.dense else None,
                    self.terms[number] if self.options.pair_width else None,
                )
            )
            start, output = start + own.width, output + own.received_width
        return arrows
