"""What a form of attention has to say for a model to be made of it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from cellformer.model.layers.layer import LayerOptions, Layers
from cellformer.model.relations.diagram import TensorDiagram
from cellformer.model.relations.pair_terms import Attended
from cellformer.model.relations.relation import Relation


@runtime_checkable
class AttentionPlan(Protocol):
    """Who attends to whom, and the layers that do it.

    `Pairwise` and `General` are the paper's; any class with these attributes is a plan, and a
    frozen dataclass of plain values, at the top of a module, is one that a run can keep. One whose
    layers read vectors of pairs says so by an attribute ``reads_pairs`` that is true; one whose
    layers have columns that flip with the orientation of their cell, by one ``reads_signs``.
    """

    @property
    def diagram(self) -> TensorDiagram:
        """The arrows; their ranks are those that a model knows and has parameters for."""
        ...

    def relations(self, dim: int) -> tuple[Relation, ...]:
        """One for each softmax, for a batch of this dimension, in the order of the layers.

        Those of ranks above ``dim`` may be among them; a batch has no pattern for these.
        """
        ...

    def layer(self, options: LayerOptions) -> nn.Module:
        """A layer with fresh weights."""
        ...

    def through(
        self,
        layers: Layers,
        cells: Sequence[Float[Tensor, "_ width"]],
        patterns: Sequence[Attended | None],
        vertices_only: bool,
    ) -> list[Float[Tensor, "_ width"]]:
        """The hidden vectors of all cells after all layers.

        ``patterns`` are what to attend to, one for each relation, and where pairs are described
        `Paired` with their vectors, and where columns flip `Signed`. With ``vertices_only`` other
        ranks may be left as they were before the last layer.
        """
        ...
