"""General attention: one softmax over the cells of all ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.model.layers.layer import GeneralLayer, LayerOptions, Layers
from cellformer.model.layers.signed_layer import SignedGeneralLayer
from cellformer.model.relations.diagram import TensorDiagram, paper_diagram
from cellformer.model.relations.pair_terms import Attended
from cellformer.model.relations.relation import Relation


@dataclass(frozen=True)
class General:
    """One attention over the cells of all ranks, biased by the diagram's block matrix.

    Source: the paper, section "General cellular attention". Raises ValueError if an arrow of the
    diagram says that it is dense: here all are, or none.
    """

    diagram: TensorDiagram
    dense: bool

    def __post_init__(self) -> None:
        for arrow in self.diagram.arrows:
            if arrow.dense:
                raise ValueError(
                    f"the arrow {arrow} is dense, but general attention is dense or sparse as a "
                    "whole; say General(diagram, dense=True) and leave the arrows sparse"
                )

    @property
    def reads_pairs(self) -> bool:
        """Its layers read vectors of pairs."""
        return True

    def relations(self, dim: int) -> tuple[Relation, ...]:
        """A single one, of all ranks that there are."""
        return (Relation.over_all(self.diagram, dim, self.dense),)

    @property
    def reads_signs(self) -> bool:
        """Its layers have columns that flip with the orientation of a cell."""
        return True

    def layer(self, options: LayerOptions) -> GeneralLayer | SignedGeneralLayer:
        """A layer with fresh weights."""
        ranks = self.diagram.num_ranks
        if options.signed_width:
            block = options.signed_feedforward()
            return SignedGeneralLayer(ranks, self.dense, options, block)
        return GeneralLayer(ranks, self.dense, options, options.feedforward())

    def through(
        self,
        layers: Layers,
        cells: Sequence[Float[Tensor, "_ width"]],
        patterns: Sequence[Attended | None],
        vertices_only: bool,
    ) -> list[Float[Tensor, "_ width"]]:
        """The hidden vectors after all layers; all ranks take part in each."""
        tokens = torch.cat(list(cells))
        for layer in layers:
            tokens = layer(tokens, *patterns, cells)
        return list(torch.split(tokens, [len(rows) for rows in cells]))

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON holds it; raises ValueError as `Arrow.to_dict` does."""
        return {"kind": "general", "dense": self.dense, **self.diagram.to_dict()}


def general_sparse(max_rank: int = 2) -> General:
    """General attention over the stored entries of the paper's block matrix."""
    return General(paper_diagram(max_rank), dense=False)


def general_dense(max_rank: int = 2) -> General:
    """General attention over all cells of a complex, biased by the paper's block matrix."""
    return General(paper_diagram(max_rank), dense=True)
