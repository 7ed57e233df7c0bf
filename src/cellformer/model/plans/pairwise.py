"""Pairwise attention: one softmax for each arrow of a tensor diagram."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxtyping import Float
from torch import Tensor

from cellformer.model.layers.layer import LayerOptions, Layers, PairwiseLayer
from cellformer.model.layers.signed_layer import SignedPairwiseLayer
from cellformer.model.relations.diagram import TensorDiagram, paper_diagram
from cellformer.model.relations.pair_terms import Attended
from cellformer.model.relations.relation import Relation


@dataclass(frozen=True)
class Pairwise:
    """One attention per arrow of the diagram, dense or sparse as the arrow says.

    Source: the paper, section "Pairwise cellular attention".
    """

    diagram: TensorDiagram

    @property
    def reads_pairs(self) -> bool:
        """Its layers read vectors of pairs."""
        return True

    def relations(self, dim: int) -> tuple[Relation, ...]:
        """One for each arrow."""
        return tuple(map(Relation.along, self.diagram.arrows))

    @property
    def reads_signs(self) -> bool:
        """Its layers have columns that flip with the orientation of a cell."""
        return True

    def layer(self, options: LayerOptions) -> PairwiseLayer | SignedPairwiseLayer:
        """A layer with fresh weights."""
        ranks = range(self.diagram.num_ranks)
        if options.signed_width:
            blocks = [options.signed_feedforward() for _ in ranks]
            return SignedPairwiseLayer(self.diagram, options, blocks)
        return PairwiseLayer(self.diagram, options, [options.feedforward() for _ in ranks])

    def through(
        self,
        layers: Layers,
        cells: Sequence[Float[Tensor, "_ width"]],
        patterns: Sequence[Attended | None],
        vertices_only: bool,
    ) -> list[Float[Tensor, "_ width"]]:
        """The hidden vectors after all layers; the last leaves out what is not read."""
        for number, layer in enumerate(layers, start=1):
            cells = layer(cells, patterns, vertices_only and number == len(layers))
        return list(cells)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON holds it; raises ValueError as `Arrow.to_dict` does."""
        return {"kind": "pairwise", **self.diagram.to_dict()}


def pairwise_sparse(max_rank: int = 2) -> Pairwise:
    """Sparse attention along every arrow of the paper's diagram."""
    return Pairwise(paper_diagram(max_rank))


def pairwise_dense(max_rank: int = 2) -> Pairwise:
    """Dense attention along every arrow of the paper's diagram."""
    arrows = paper_diagram(max_rank).arrows
    return Pairwise(TensorDiagram(tuple(replace(arrow, dense=True) for arrow in arrows)))


def pairwise_mixed(max_rank: int = 2) -> Pairwise:
    """Dense attention within each rank, sparse attention between ranks."""
    arrows = paper_diagram(max_rank).arrows
    return Pairwise(
        TensorDiagram(
            tuple(replace(arrow, dense=arrow.sender == arrow.receiver) for arrow in arrows)
        )
    )
