"""The 1-skeleton of the barycentric subdivision, as the global encodings use it."""

import numpy as np
from scipy import sparse

from cellformer.complexes.matrices import Bounded, Matrix, barycentric_skeleton


def barycentric_walk(cells: Bounded) -> Matrix:
    """``A D^-1`` on the cells of all ranks, rank after rank: the columns sum to 1.

    Source: the paper, section "RWPe" (RWBSPe). A cell without neighbors stays: it carries a loop.
    """
    skeleton = looped_skeleton(cells)
    return sparse.csr_array(skeleton / skeleton.sum(axis=0)[None, :])


def looped_skeleton(cells: Bounded) -> Matrix:
    """`barycentric_skeleton` in float64, with a loop of weight 1 at each cell without neighbors.

    With the loop such a cell has degree 1, its walk stays, and its row of the normalized Laplacian
    is zero.
    """
    skeleton = barycentric_skeleton(cells).astype(np.float64)
    isolated = (np.diff(skeleton.indptr) == 0).astype(np.float64)
    return sparse.csr_array(skeleton + sparse.diags_array(isolated)) if isolated.any() else skeleton
