"""HodgeLapPE: the eigenvectors of the Hodge Laplacians."""

import itertools
from dataclasses import dataclass

import numpy as np

from cellformer.complexes.cell_complex import FLIPPING_SIGN, CellComplex
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.union import DisjointUnion
from cellformer.complexes.matrices import hodge_laplacian
from cellformer.encodings.encode import EncodedRanks, check_size, encoded
from cellformer.encodings.numerics.collective_eigenvectors import laplacian_block, smallest_of_each
from cellformer.encodings.numerics.lowest_eigenvectors import smallest_eigenvectors


@dataclass(frozen=True)
class HodgeLap:
    """Eigenvectors of the unnormalized Hodge Laplacian ``L_k``, smallest eigenvalues first.

    Local: each rank has its own eigenvectors and signs. On rank 0 the constant vector is left
    out, as in the Laplacian encodings that the paper cites, and the others are orthogonal to it;
    nothing is left out on higher ranks, whose kernel is the homology. Missing vectors are zero.

    Source: the paper, section "BSPe" and appendix "Details on LapPE for graphs and their
    HodgeLapPE extension".
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
        laplacian = hodge_laplacian(union, 0).astype(np.float64)
        constant = np.ones(union.num_cells[0])
        vectors = [smallest_of_each(laplacian, union.offsets[0], constant, self.size)]
        for rank in range(1, union.dim + 1):
            laplacian, offsets = hodge_laplacian(union, rank), union.offsets[rank].tolist()
            columns = np.zeros((union.num_cells[rank], self.size))
            for rows in itertools.starmap(slice, itertools.pairwise(offsets)):
                found = smallest_eigenvectors(laplacian_block(laplacian, rows), self.size)
                columns[rows, : found.shape[1]] = found
            vectors.append(columns)
        return encoded(vectors, self.size, FLIPPING_SIGN)
