"""General attention some of whose heads see farther than the neighborhood."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from torch import Tensor

from cellformer.complexes.matrices import Bounded, Matrix
from cellformer.model.config import ArchitectureConfig
from cellformer.model.layers.layer import LayerOptions, Layers
from cellformer.model.layers.reaching_layer import HeadGroup, ReachingLayer
from cellformer.model.plans.general import General
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.relations.diagram import TensorDiagram
from cellformer.model.relations.pair_terms import Attended
from cellformer.model.relations.relation import Relation


@dataclass(frozen=True)
class Reaching:
    """One softmax for each reach of the heads: of neighbors, of several hops, of all cells.

    *Not in the paper*, whose heads of a layer attend to the same cells. ``shares`` are the hops of
    each share of the heads, infinite for those that see all of the complex.
    """

    general: General
    shares: tuple[float, ...]

    @property
    def diagram(self) -> TensorDiagram:
        """That of the general attention."""
        return self.general.diagram

    @property
    def reads_pairs(self) -> bool:
        """Its layers read vectors of pairs."""
        return True

    def relations(self, dim: int) -> tuple[Relation, ...]:
        """One for each reach, the nearest first."""
        return tuple(_relation(self.diagram, dim, hops) for hops in sorted(set(self.shares)))

    def layer(self, options: LayerOptions) -> ReachingLayer:
        """A layer with fresh weights."""
        heads = options.heads // len(self.shares)
        groups = [
            HeadGroup(count, heads * count, dense=hops == math.inf)
            for hops, count in sorted(Counter(self.shares).items())
        ]
        return ReachingLayer(self.diagram.num_ranks, groups, options, options.feedforward())

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
            tokens = layer(tokens, patterns, cells)
        return list(torch.split(tokens, [len(rows) for rows in cells]))

    def to_dict(self) -> dict[str, Any]:
        """That of the general attention; the configuration of a model says how far heads reach."""
        return self.general.to_dict()


def reaching(plan: AttentionPlan, architecture: ArchitectureConfig) -> AttentionPlan:
    """The plan, with heads that reach as far as they are asked to.

    Raises ValueError where only general-sparse attention could give them another reach.
    """
    own = plan.general if isinstance(plan, Reaching) else plan
    shares = architecture.shares
    if set(shares) == {1}:
        return own
    if not isinstance(own, General) or own.dense:
        raise ValueError(
            f"reach ({architecture.reach}) is of use with attention general-sparse only: elsewhere "
            "heads see all cells already, or have arrows of their own; leave it at 1"
        )
    return Reaching(own, shares)


def within_hops(matrix: Matrix, hops: int) -> Matrix:
    """1 for all pairs that a walk of 1 to so many steps joins, each along a stored entry."""
    ones = np.ones(matrix.nnz, np.float32)
    step = sparse.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)
    found = step
    for _ in range(1, hops):
        farther = sparse.csr_array(found @ step + step)
        farther.data[:] = 1
        if farther.nnz == found.nnz:  # whoever can be reached has been
            break
        found = farther
    found = found.copy()
    found.sort_indices()
    return found


def _relation(diagram: TensorDiagram, dim: int, hops: float) -> Relation:
    """The cells of all ranks attend to those that are so far away at most."""
    if hops == 1 or hops == math.inf:
        return Relation.over_all(diagram, dim, dense=hops == math.inf)
    steps, ranks = int(hops), tuple(range(dim + 1))

    def matrix(cells: Bounded) -> Matrix:
        return within_hops(diagram.block_matrix(cells), steps)

    key = ("hops", steps, diagram)
    return Relation(diagram.arrows, ranks, ranks, False, matrix, key, steps)
