"""The cells that a source brings itself: the faces of a mesh, the simplices of a triangulation."""

from dataclasses import dataclass

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import CollectiveLifting, Lifting, OverLimit, collective_form


@dataclass(frozen=True)
class OwnCells:
    """The complex that a graph is the skeleton of, or what another lifting makes of a mere graph.

    Every other lifting starts from the vertices and edges alone.
    """

    otherwise: Lifting | None = None
    """The lifting of graphs without cells of their own; without it they are an error."""

    def __call__(self, graph: Graph) -> CellComplex:
        """Raises ValueError for a graph without cells of its own if there is no other lifting."""
        if graph.cells is not None:
            return graph.cells
        if self.otherwise is None:
            raise ValueError(f"graph {graph.name!r} has no cells of its own; choose a lifting")
        return self.otherwise(graph)

    @property
    def collective(self) -> CollectiveLifting | None:
        """What lifts many mere graphs at once; None where the other lifting takes one at a time."""
        return None if self.otherwise is None else collective_form(self.otherwise)


def own_cells_or_cycles(max_length: int = 8, over_limit: OverLimit = "fail") -> OwnCells:
    """The cells that a graph brings, or else a face for every chordless cycle up to a length."""
    return OwnCells(InducedCycles(max_length=max_length, over_limit=over_limit))
