"""Attention plans: the paper's forms of attention on a tensor diagram."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, get_args

from cellformer.basics.suggestions import unknown_choice
from cellformer.model.config import AttentionName
from cellformer.model.diagram import TensorDiagram, paper_diagram


@dataclass(frozen=True)
class Pairwise:
    """One attention per arrow of the diagram, dense or sparse as the arrow says.

    Source: the paper, section "Pairwise cellular attention".
    """

    diagram: TensorDiagram

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON holds it; raises ValueError if a neighborhood is a function."""
        return {"kind": "pairwise", **self.diagram.to_dict()}


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

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON holds it; raises ValueError if a neighborhood is a function."""
        return {"kind": "general", "dense": self.dense, **self.diagram.to_dict()}


AttentionPlan: TypeAlias = Pairwise | General


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


def general_sparse(max_rank: int = 2) -> General:
    """General attention over the stored entries of the paper's block matrix."""
    return General(paper_diagram(max_rank), dense=False)


def general_dense(max_rank: int = 2) -> General:
    """General attention over all cells of a complex, biased by the paper's block matrix."""
    return General(paper_diagram(max_rank), dense=True)


def attention_plan(name: str, max_rank: int = 2) -> AttentionPlan:
    """The paper's form of attention of this name, such as ``"pairwise-mixed"``.

    Raises ValueError, naming the nearest one, for any other name.
    """
    match name:
        case "pairwise-sparse":
            return pairwise_sparse(max_rank)
        case "pairwise-dense":
            return pairwise_dense(max_rank)
        case "pairwise-mixed":
            return pairwise_mixed(max_rank)
        case "general-sparse":
            return general_sparse(max_rank)
        case "general-dense":
            return general_dense(max_rank)
    raise unknown_choice("attention", name, get_args(AttentionName))


def plan_from_dict(values: Mapping[str, Any]) -> AttentionPlan:
    """The inverse of a plan's ``to_dict``; raises ValueError for another kind of plan."""
    diagram = TensorDiagram.from_dict(values)
    match values["kind"]:
        case "pairwise":
            return Pairwise(diagram)
        case "general":
            return General(diagram, values["dense"])
    raise unknown_choice("kind of plan", values["kind"], ("pairwise", "general"))
