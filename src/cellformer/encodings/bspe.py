"""BSPe: the Laplacian eigenvectors of the barycentric subdivision's 1-skeleton."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cellformer.complexes.cell_complex import SHARED_SIGN, CellComplex
from cellformer.complexes.neighborhoods import Matrix
from cellformer.encodings.barycentric import (
    dense_looped_skeleton,
    looped_skeleton,
    split_ranks,
)
from cellformer.encodings.encode import EncodedRanks, check_size, encoded
from cellformer.encodings.spectrum import DENSE_CELLS, smallest_eigenvectors


@dataclass(frozen=True)
class BSPe:
    """Eigenvectors of the normalized Laplacian ``I - D^-1/2 A D^-1/2``, smallest values first.

    Global: one eigenvector covers the cells of every rank, so all ranks share its sign. The
    trivial vector ``D^1/2 1`` is left out and every other vector is orthogonal to it, so
    of a complex with c components c - 1 vectors of the kernel remain. A cell without
    neighbors counts as a component, with a Laplacian row of zeros. Missing vectors are zero.

    Source: the paper, section "BSPe"; leaving the trivial vector out follows the Laplacian
    encodings that it cites (Dwivedi et al., "Benchmarking Graph Neural Networks").
    """

    size: int = 8

    def __post_init__(self) -> None:
        check_size(self.size)

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        """The encoding of a complex."""
        if sum(cells.num_cells) <= DENSE_CELLS:
            dense = dense_looped_skeleton(cells)
            root = np.sqrt(dense.sum(axis=0))
            dense /= -np.outer(root, root)
            dense.flat[:: len(dense) + 1] += 1
            vectors = smallest_eigenvectors(dense, self.size, root)
        else:
            skeleton = looped_skeleton(cells)
            root = np.sqrt(skeleton.sum(axis=0))
            vectors = smallest_eigenvectors(_normalized(skeleton), self.size, root)
        return encoded(split_ranks(cells, vectors), self.size, SHARED_SIGN)


def _normalized(skeleton: Matrix) -> Matrix:
    scale = sparse.diags_array(1 / np.sqrt(skeleton.sum(axis=0)))
    laplacian = sparse.eye_array(skeleton.shape[0]) - scale @ skeleton @ scale
    return sparse.csr_array(laplacian)
