"""Which cells attend to which in one softmax."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from cellformer.complexes.matrices import Bounded, Matrix
from cellformer.model.relations.diagram import Arrow, TensorDiagram


@dataclass(frozen=True, eq=False)
class Relation:
    """The cells of some ranks attend to those of some ranks, with one softmax for each.

    Args:
        arrows: Those of the diagram that are followed.
        receivers: The ranks that attend, ascending.
        senders: The ranks that are attended to, ascending.
        dense: Whether to all cells of these ranks in the same complex, or to the stored entries of
            the matrix.
        matrix: From a complex or a whole batch to a row for every receiver, rank after rank, and a
            column for every sender.
        key: What a batch keeps the matrix by: equal keys, equal matrices.
        hops: How many arrows one after the other lead from a sender to a receiver at most.
    """

    arrows: tuple[Arrow, ...]
    receivers: tuple[int, ...]
    senders: tuple[int, ...]
    dense: bool
    matrix: Callable[[Bounded], Matrix]
    key: Hashable
    hops: int = 1

    @property
    def max_rank(self) -> int:
        """The highest rank; a batch that lacks it has nothing of the relation."""
        return max(*self.receivers, *self.senders)

    @classmethod
    def along(cls, arrow: Arrow) -> "Relation":
        """The cells of one rank attend to those of another, through N_{s->t}."""
        key = ("arrow", arrow.sender, arrow.receiver, arrow.neighborhood)
        return cls((arrow,), (arrow.receiver,), (arrow.sender,), arrow.dense, arrow.matrix, key)

    @classmethod
    def over_all(cls, diagram: TensorDiagram, dim: int, dense: bool) -> "Relation":
        """The cells of the ranks 0 ... dim attend to each other, through the block matrix N."""
        ranks = tuple(range(dim + 1))
        return cls(diagram.arrows, ranks, ranks, dense, diagram.block_matrix, ("general", diagram))
