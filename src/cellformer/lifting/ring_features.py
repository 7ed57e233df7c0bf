"""Features for the rings of a molecule: what a chemist would say of each."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int64

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.complexes.neighborhoods import containment
from cellformer.lifting.lift import Lifting, lift

RING_CATEGORIES = (19, 2, 5, 4, 2, 5)
"""Categories of: size (18 and more together), aromatic, atoms other than carbon, double and triple
bonds outside aromaticity, conjugated all around, rings that share a bond with it. Counts end with
a category for more."""

_CARBON = 5
_DOUBLE, _TRIPLE, _AROMATIC = 1, 2, 3


@dataclass(frozen=True)
class RingFeatures:
    """Another lifting, whose 2-cells get six discrete features.

    They are read off the features of atoms and bonds, so the graph must carry those of the
    "standard" or the "ogb" scheme, and do not depend on the order of the atoms.
    """

    lifting: Lifting

    def __call__(self, graph: Graph) -> CellComplex:
        """Raises ValueError for a graph with other features, and what the lifting raises."""
        shapes = (graph.vertex_features.discrete.shape[1], graph.edge_features.discrete.shape[1])
        if shapes[0] != 9 or (graph.num_edges and shapes[1] != 3):
            raise ValueError(
                f"graph {graph.name!r} has not the nine atom and three bond features that ring "
                f"features are made of, but {shapes}; use features standard or ogb, or do without"
            )
        cells = lift(graph, self.lifting)
        if cells.dim < 2:
            return cells
        rings = Features(_describe(cells), np.zeros((cells.num_cells[2], 0), np.float32))
        return replace(cells, features=(*cells.features[:2], rings, *cells.features[3:]))


def _describe(cells: CellComplex) -> Int64[np.ndarray, "ring 6"]:
    edges_of = abs(cells.boundary(2)).astype(np.int64).T.tocsr()  # (ring, bond)
    atoms_of = containment(cells, 0, 2).T.astype(np.int64).tocsr()  # (ring, atom)
    bonds = cells.features[1].discrete
    size = np.asarray(edges_of.sum(axis=1)).ravel()

    def count(mask: np.ndarray) -> Int64[np.ndarray, " ring"]:
        counted: Int64[np.ndarray, " ring"] = edges_of @ mask.astype(np.int64)
        return counted

    hetero = np.asarray(atoms_of @ (cells.features[0].discrete[:, 0] != _CARBON).astype(np.int64))
    shared = (edges_of @ edges_of.T).tolil()
    shared.setdiag(0)
    neighbors = np.asarray((shared.tocsr() > 0).sum(axis=1)).ravel()
    columns = (
        size,
        count(bonds[:, 0] == _AROMATIC) == size,
        hetero,
        count((bonds[:, 0] == _DOUBLE) | (bonds[:, 0] == _TRIPLE)),
        count(bonds[:, 2] == 1) == size,
        neighbors,
    )
    limits = np.array(RING_CATEGORIES) - 1
    table: Int64[np.ndarray, "ring 6"] = np.stack(columns, axis=1).astype(np.int64)
    limited: Int64[np.ndarray, "ring 6"] = np.minimum(table, limits)
    return limited
