"""What a lifting is, and what happens at its limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, get_args, runtime_checkable

from cellformer.basics.checks import at_least, one_of
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.ragged_graphs import RaggedGraphs

Lifting: TypeAlias = Callable[[Graph], CellComplex]
"""Any function from a graph to a complex. Those of this package keep the vertices, the edges and
their features, positions and the name of the graph."""

OverLimit: TypeAlias = Literal["fail", "truncate"]
"""Over a limit, raise `LiftingLimitError` or leave out the largest cells."""


class LiftingLimitError(ValueError):
    """A graph has more cells than a lifting may make, or finding them takes too many steps."""


def lift(graph: Graph, lifting: Lifting) -> CellComplex:
    """The complex that a lifting, or a function of your own, makes of a graph.

    Raises TypeError if the function returns something else, and what the lifting raises:
    `LiftingLimitError` from those that have limits.
    """
    cells = lifting(graph)
    if not isinstance(cells, CellComplex):
        raise TypeError(
            f"a lifting must return a CellComplex; {lifting!r} returned {type(cells).__name__}"
        )
    return cells


@dataclass(frozen=True, eq=False)
class Lifted:
    """What a lifting makes of many graphs at once."""

    complexes: RaggedComplexes  # of the graphs within the limits, in their order
    over_limit: Mapping[int, str]
    """The other graphs by their number among all, with the reason, which names no graph."""


@runtime_checkable
class CollectiveLifting(Protocol):
    """A lifting that takes many graphs at once, which is faster than one by one."""

    def __call__(self, graph: Graph) -> CellComplex:
        """The complex of one graph."""

    def many(self, graphs: RaggedGraphs) -> Lifted:
        """The complexes of all graphs, the same as one by one.

        Graphs over a limit are told in the result; anything else that goes wrong is raised.
        """


@runtime_checkable
class PartlyCollective(Protocol):
    """A lifting that can take many graphs at once where none brings cells of its own."""

    @property
    def collective(self) -> CollectiveLifting | None:
        """What lifts graphs without cells of their own; None if it takes them one by one."""


def collective_form(lifting: Lifting) -> CollectiveLifting | None:
    """What lifts many graphs without cells of their own at once; None if nothing does."""
    if isinstance(lifting, PartlyCollective):
        return lifting.collective
    return lifting if isinstance(lifting, CollectiveLifting) else None


def limit_error(graph: Graph, reason: str) -> LiftingLimitError:
    """The error of a graph over a limit."""
    return LiftingLimitError(f"{describe(graph)}: {reason}")


def describe(graph: Graph) -> str:
    """A graph's name and size, for messages."""
    name = f"graph {graph.name!r}" if graph.name else "graph"
    return f"{name} ({graph.num_vertices} vertices, {graph.num_edges} edges)"


def check_limits(max_cells: int, max_steps: int, over_limit: str) -> None:
    """Raises ValueError unless these can be a lifting's limits."""
    at_least(1, max_cells=max_cells, max_steps=max_steps)
    one_of(get_args(OverLimit), over_limit=over_limit)
