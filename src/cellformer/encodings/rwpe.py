"""RWPe: return probabilities of the random walk among the cells of one rank."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cellformer.complexes.cell_complex import NO_SIGN, CellComplex
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.union import DisjointUnion
from cellformer.complexes.matrices import Bounded, Matrix, down_adjacency, up_adjacency
from cellformer.encodings.encode import EncodedRanks, check_size, encoded
from cellformer.encodings.numerics.walks import return_probabilities


@dataclass(frozen=True)
class RWPe:
    """The probability to be back after 1 ... size steps of the walk ``RW_k`` (see `walk_matrix`).

    Local: each rank has its own walk. Source: the paper, section "RWPe" and appendix "Random
    walks on cell complexes".
    """

    size: int = 8

    def __post_init__(self) -> None:
        check_size(self.size)

    @property
    def reach(self) -> int:
        """As in `RWBSPe`; a step of this walk is two: to a shared cell, and on."""
        return 2 * (self.size // 2 + 1)

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        """The encoding of a complex."""
        return self._of(DisjointUnion.of(cells))

    def many(self, complexes: RaggedComplexes) -> EncodedRanks:
        """The encoding of each complex of a collection."""
        return self._of(DisjointUnion.of(complexes))

    def _of(self, union: DisjointUnion) -> EncodedRanks:
        probabilities = [
            return_probabilities(walk_matrix(union, rank), self.size, offsets)
            for rank, offsets in enumerate(union.offsets)
        ]
        return encoded(probabilities, self.size, NO_SIGN)


def walk_matrix(cells: Bounded, rank: int) -> Matrix:
    """``RW_k``: entry (i, j) is the probability to step from the k-cell j to the k-cell i.

    From a cell with upper and lower neighbors the walk goes half by either kind, in proportion to
    the number of shared (k+1)- or (k-1)-cells; from a cell with one kind only, by that; a cell
    with neither stays. The columns sum to 1. Source: the paper, appendix "Random walks on cell
    complexes".
    """
    up, down = up_adjacency(cells, rank), down_adjacency(cells, rank)
    by_up, by_down, stay = _shares(
        up.sum(axis=0, dtype=np.float64), down.sum(axis=0, dtype=np.float64)
    )
    up_steps, down_steps = up @ sparse.diags_array(by_up), down @ sparse.diags_array(by_down)
    walk = sparse.csr_array(up_steps + down_steps + sparse.diags_array(stay))
    walk.eliminate_zeros()
    return walk


def _shares(up: NDArray[np.float64], down: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Of each cell, by its two weighted degrees: the factors of its two columns, and its loop."""
    kinds = (up > 0) * 1.0 + (down > 0) * 1.0
    by_up = np.divide(1, up * kinds, out=np.zeros_like(up), where=up > 0)
    by_down = np.divide(1, down * kinds, out=np.zeros_like(down), where=down > 0)
    return by_up, by_down, (kinds == 0) * 1.0
