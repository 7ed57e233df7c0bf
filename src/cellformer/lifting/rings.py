"""A face for every ring of a molecule: the relevant cycles."""

import sys
from dataclasses import dataclass

from cellformer.basics.checks import at_least
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged_graphs import RaggedGraphs
from cellformer.lifting.lift import Lifted, OverLimit, check_limits
from cellformer.lifting.searches.limited_cycles import fill_all_cycles, fill_cycles
from cellformer.lifting.searches.relevant_cycles import relevant_cycles


@dataclass(frozen=True)
class Rings:
    """The relevant cycles: those that belong to some minimum cycle basis (Vismara 1997).

    A cycle is relevant if it is not the sum of shorter ones. For nearly all molecules these are
    the rings that RDKit calls the symmetrized smallest set: 6 faces of cubane, 4 of adamantane,
    32 of C60. But RDKit's set depends on the order of the atoms of some cages, and of macrocycles
    through para-rings it holds only some of the equivalent rings; the relevant cycles are unique,
    so the faces do not depend on how the vertices are numbered. They come by length, then by
    their highest vertex. Any graph will do; the chemistry is not looked at.

    Size limit: the time grows like vertices times edges where no ``max_size`` is set, and the
    number of relevant cycles exponentially with the para-rings along a macrocycle. The default
    limits suffice for nearly every molecule, and for sparse graphs of some thousand vertices; at
    either one the lifting stops within seconds. The limit on cells is the same for every
    numbering of the vertices, the one on steps approximately so.

    Source: P. Vismara, "Union of all the minimum cycle bases of a graph", Electronic Journal of
    Combinatorics 4 (1997), R9.
    """

    max_size: int | None = None
    """The number of edges of the greatest ring that is filled; None for no limit."""
    max_cells: int = 10_000
    """The greatest number of rings."""
    max_steps: int = 20_000_000
    """The greatest number of looks at a vertex, an edge or a word of bits during the search."""
    over_limit: OverLimit = "fail"
    """Over a limit, "fail" raises `LiftingLimitError`; "truncate" keeps all rings up to the
    greatest size for which the limits suffice, and none that are greater."""

    def __post_init__(self) -> None:
        if self.max_size is not None:
            at_least(3, max_size=self.max_size)
        check_limits(self.max_cells, self.max_steps, self.over_limit)

    def __call__(self, graph: Graph) -> CellComplex:
        """Lifts a graph; raises `LiftingLimitError` as configured."""
        return fill_cycles(graph, relevant_cycles, *self._limits())

    def many(self, graphs: RaggedGraphs) -> Lifted:
        """Lifts each graph of a collection."""
        return fill_all_cycles(graphs, relevant_cycles, *self._limits())

    def _limits(self) -> tuple[int, int, int, OverLimit]:
        max_size = sys.maxsize if self.max_size is None else self.max_size
        return max_size, self.max_cells, self.max_steps, self.over_limit
