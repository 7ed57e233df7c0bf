"""The 1-skeleton of the barycentric subdivision, as the global encodings use it."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.neighborhoods import Matrix, barycentric_skeleton


def barycentric_walk(cells: CellComplex) -> Matrix:
    """``A D^-1`` on the cells of all ranks, rank after rank: the columns sum to 1.

    Source: the paper, section "RWPe" (RWBSPe). A cell without neighbors stays: it carries a loop.
    """
    skeleton = looped_skeleton(cells)
    return sparse.csr_array(skeleton / skeleton.sum(axis=0)[None, :])


def looped_skeleton(cells: CellComplex) -> Matrix:
    """`barycentric_skeleton` in float64, with a loop of weight 1 at each cell without neighbors.

    With the loop such a cell has degree 1, its walk stays, and its row of the normalized Laplacian
    is zero.
    """
    skeleton = barycentric_skeleton(cells).astype(np.float64)
    isolated = (np.diff(skeleton.indptr) == 0).astype(np.float64)
    return sparse.csr_array(skeleton + sparse.diags_array(isolated)) if isolated.any() else skeleton


def dense_looped_skeleton(cells: CellComplex) -> NDArray[np.float64]:
    """The same as an array: several times faster on small complexes."""
    starts = np.concatenate([[0], np.cumsum(cells.num_cells)]).tolist()
    skeleton = np.zeros((starts[-1], starts[-1]))
    incidences = [abs(b.toarray()).astype(np.float64) for b in cells.boundaries]
    for low in range(cells.dim):
        below = None
        for high in range(low + 1, cells.dim + 1):
            faces = incidences[high - 1]
            below = faces if below is None else np.minimum(below @ faces, 1.0)
            rows, columns = slice(*starts[low : low + 2]), slice(*starts[high : high + 2])
            skeleton[rows, columns] = below
            skeleton[columns, rows] = below.T
    isolated = np.flatnonzero(~skeleton.any(axis=0))
    skeleton[isolated, isolated] = 1.0
    return skeleton


def split_ranks(cells: CellComplex, rows: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The rows of all cells, cut into those of each rank."""
    return np.split(rows, np.cumsum(cells.num_cells)[:-1])
