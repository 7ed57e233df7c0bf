"""Features for the 2-cells of a graph; for rings of molecules, what a chemist would say."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int64
from scipy import sparse

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.matrices import containment
from cellformer.lifting.lift import Lifting, lift

RING_CATEGORIES = (19, 5, 2, 5, 4, 2)
"""Categories of: size (18 and more together), rings that share an edge with it; and of molecules
with all features: aromatic, atoms other than carbon, double and triple bonds outside aromaticity,
conjugated all around. Counts end with a category for more."""

_CARBON = 5
_DOUBLE, _TRIPLE, _AROMATIC = 1, 2, 3


@dataclass(frozen=True)
class RingFeatures:
    """Another lifting, whose 2-cells get two features, or six, beside those they have.

    Two hold for any graph: size and neighbors. The other four are read off the features of atoms
    and bonds, where these are of the "standard" or the "ogb" scheme. None depends on the order of
    the vertices. All are discrete; ``as_numbers`` makes what is counted continuous and leaves no
    count out, so that a size of which few examples are learned is one more than the size before.
    """

    lifting: Lifting
    as_numbers: bool = False

    def __call__(self, graph: Graph) -> CellComplex:
        """The complex of the lifting, with features of rank 2; raises what the lifting raises."""
        cells = lift(graph, self.lifting)
        if cells.dim < 2:
            return cells
        shapes = (graph.vertex_features.discrete.shape[1], graph.edge_features.discrete.shape[1])
        edges_of = abs(cells.boundary(2)).astype(np.int64).T.tocsr()  # (ring, edge)
        columns = _shapes(edges_of)
        if shapes == (9, 3):
            columns += _chemistry(cells, edges_of)
        table = np.stack(columns, axis=1).astype(np.int64)
        own = cells.features[2]
        numbers = own.continuous
        limits = np.array(RING_CATEGORIES[: len(columns)]) - 1
        if self.as_numbers:
            counted = limits > 1  # the others say whether
            numbers = np.hstack([numbers, table[:, counted].astype(np.float32)])
            table, limits = table[:, ~counted], limits[~counted]
        discrete = np.hstack([own.discrete, np.minimum(table, limits)])
        rings = replace(own, discrete=discrete, continuous=numbers)
        return replace(cells, features=(*cells.features[:2], rings, *cells.features[3:]))


def _shapes(edges_of: sparse.csr_array) -> tuple[np.ndarray, ...]:
    shared = (edges_of @ edges_of.T).tolil()
    shared.setdiag(0)
    neighbors = np.asarray((shared.tocsr() > 0).sum(axis=1)).ravel()
    return np.asarray(edges_of.sum(axis=1)).ravel(), neighbors


def _chemistry(cells: CellComplex, edges_of: sparse.csr_array) -> tuple[np.ndarray, ...]:
    atoms_of = containment(cells, 0, 2).T.astype(np.int64).tocsr()  # (ring, atom)
    bonds = cells.features[1].discrete
    size = np.asarray(edges_of.sum(axis=1)).ravel()

    def count(mask: np.ndarray) -> Int64[np.ndarray, " ring"]:
        counted: Int64[np.ndarray, " ring"] = edges_of @ mask.astype(np.int64)
        return counted

    return (
        count(bonds[:, 0] == _AROMATIC) == size,
        np.asarray(atoms_of @ (cells.features[0].discrete[:, 0] != _CARBON).astype(np.int64)),
        count((bonds[:, 0] == _DOUBLE) | (bonds[:, 0] == _TRIPLE)),
        count(bonds[:, 2] == 1) == size,
    )
