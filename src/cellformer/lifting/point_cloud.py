"""The complex of a cloud of points: neighbors joined, and cliques of neighbors filled."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64
from scipy.spatial import KDTree

from cellformer.basics.checks import at_least, positive
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.lifting.cliques import Cliques
from cellformer.lifting.lift import LiftingLimitError

Points = Float64[np.ndarray, "point space"]
Linked = Int64[np.ndarray, "edge 2"]

_TIE = 1 + 1e-9  # distances that differ by less are equal, whatever the rounding


@dataclass(frozen=True)
class PointNeighbors:
    """Joins the points that are near, and fills triangles of them (and simplices of more points).

    With a ``radius`` this is the Vietoris-Rips complex: points at most that far apart are joined.
    Without, a point is joined to its nearest ones, and to all that are as far as the last of these,
    so that ties, which a grid is full of, do not depend on the order of the points. Neither do the
    cells otherwise: moving, turning, and reordering points gives the same complex, and without a
    radius scaling them does. Rank k holds the cliques of k + 1 points (see `Cliques`).

    Source: Hausmann, "On the Vietoris-Rips complexes and a cohomology theory for metric spaces"
    (1995), for the radius; the clique complex of the symmetric nearest-neighbor graph without.
    """

    neighbors: int = 6
    """Nearest points that each is joined to."""
    radius: float | None = None
    """In the units of the points; ``neighbors`` is then of no effect."""
    max_dim: int = 2
    """The highest rank."""
    max_cells: int = 200_000
    """The greatest number of edges, and of cells of rank 2 and higher, of one cloud."""

    def __post_init__(self) -> None:
        at_least(1, neighbors=self.neighbors, max_cells=self.max_cells)
        if self.radius is not None:
            positive(radius=self.radius)

    def __call__(self, graph: Graph) -> CellComplex:
        """The complex of a graph's positions; edges that it has already are not looked at.

        Keeps positions, name and features of the vertices. Raises LiftingLimitError, a ValueError,
        for a cloud over the limit, and ValueError for a graph without positions.
        """
        points = graph.positions
        if points is None:
            raise ValueError(f"graph {graph.name!r} has no positions; choose another lifting")
        edges = self._edges(points, graph.name)
        joined = Graph.from_edges(
            edges, len(points), graph.vertex_features, positions=points, name=graph.name
        )
        return Cliques(self.max_dim, max_cells=self.max_cells)(joined)

    def _edges(self, points: Points, name: str) -> Linked:
        if len(points) < 2:
            return np.zeros((0, 2), np.int64)
        tree = KDTree(points)
        reach: float | Float64[np.ndarray, " point"]
        if self.radius is not None:
            reach = self.radius * _TIE
        else:
            nearest, _ = tree.query(points, k=[min(self.neighbors, len(points) - 1) + 1])
            reach = nearest[:, 0] * _TIE
        # Counted before they are listed: a radius too large would fill the memory.
        count = int(tree.query_ball_point(points, reach, return_length=True).sum()) - len(points)
        if count > 2 * self.max_cells:
            raise LiftingLimitError(
                f"point set {name!r} ({len(points)} points): more than {self.max_cells} edges; "
                "choose a smaller data.radius or fewer data.neighbors, thin the points out, or "
                "leave this set out"
            )
        found = tree.query_ball_point(points, reach, return_sorted=True)
        here = np.repeat(np.arange(len(points)), [len(row) for row in found])
        pairs = np.stack([here, np.concatenate([np.array(row, np.int64) for row in found])], axis=1)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        unique: Linked = np.unique(np.sort(pairs, axis=1), axis=0)
        return unique
