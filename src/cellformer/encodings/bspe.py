"""BSPe: the Laplacian eigenvectors of the barycentric subdivision's 1-skeleton."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cellformer.complexes.cell_complex import SHARED_SIGN, CellComplex
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.union import DisjointUnion, reordered
from cellformer.complexes.matrices import Matrix
from cellformer.encodings.barycentric import looped_skeleton
from cellformer.encodings.encode import EncodedRanks, check_size, encoded
from cellformer.encodings.numerics.collective_eigenvectors import smallest_of_each


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
        return self._of(DisjointUnion.of(cells))

    def many(self, complexes: RaggedComplexes) -> EncodedRanks:
        """The encoding of each complex of a collection."""
        return self._of(DisjointUnion.of(complexes))

    def _of(self, union: DisjointUnion) -> EncodedRanks:
        order, offsets = union.by_complex()
        skeleton = reordered(looped_skeleton(union), order)
        root = np.sqrt(skeleton.sum(axis=0))
        vectors = np.empty((len(root), self.size))
        vectors[order] = smallest_of_each(normalized(skeleton), offsets, root, self.size)
        return encoded(union.split_ranks(vectors), self.size, SHARED_SIGN)


def normalized(skeleton: Matrix) -> Matrix:
    """The normalized Laplacian of an adjacency matrix in which every row has an entry."""
    scale = sparse.diags_array(1 / np.sqrt(skeleton.sum(axis=0)))
    laplacian = sparse.eye_array(skeleton.shape[0]) - scale @ skeleton @ scale
    return sparse.csr_array(laplacian)
