"""HodgeLapPE: the eigenvectors of the Hodge Laplacians."""

from dataclasses import dataclass

import numpy as np

from cellformer.complexes.cell_complex import RANK_SIGN, CellComplex
from cellformer.complexes.neighborhoods import hodge_laplacian
from cellformer.encodings.encode import EncodedRanks, check_size, encoded
from cellformer.encodings.spectrum import DENSE_CELLS, Laplacian, smallest_eigenvectors


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
        vectors = [
            smallest_eigenvectors(
                _laplacian(cells, rank), self.size, np.ones(count) if rank == 0 else None
            )
            for rank, count in enumerate(cells.num_cells)
        ]
        return encoded(vectors, self.size, RANK_SIGN)


def _laplacian(cells: CellComplex, rank: int) -> Laplacian:
    count = cells.num_cells[rank]
    if count > DENSE_CELLS:
        return hodge_laplacian(cells, rank).astype(np.float64)
    laplacian = np.zeros((count, count))
    if rank < cells.dim:
        cofaces = cells.boundaries[rank].toarray().astype(np.float64)
        laplacian += cofaces @ cofaces.T
    if rank:
        faces = cells.boundaries[rank - 1].toarray().astype(np.float64)
        laplacian += faces.T @ faces
    return laplacian
