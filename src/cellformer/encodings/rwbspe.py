"""RWBSPe: return probabilities on the barycentric subdivision's 1-skeleton."""

from dataclasses import dataclass

from cellformer.complexes.cell_complex import NO_SIGN, CellComplex
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.union import DisjointUnion
from cellformer.encodings.barycentric import barycentric_walk
from cellformer.encodings.encode import EncodedRanks, check_size, encoded
from cellformer.encodings.numerics.walks import return_probabilities


@dataclass(frozen=True)
class RWBSPe:
    """The probability to be back after 1 ... size steps of the walk ``A D^-1`` from cell to cell.

    Global: the walk runs through the cells of every rank. A cell without neighbors stays, with
    probability 1. Source: the paper, section "RWPe".
    """

    size: int = 8

    def __post_init__(self) -> None:
        check_size(self.size)

    @property
    def reach(self) -> int:
        """A walk that returns goes half of its steps away, and has to know where it can turn."""
        return self.size // 2 + 1

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        """The encoding of a complex."""
        return self._of(DisjointUnion.of(cells))

    def many(self, complexes: RaggedComplexes) -> EncodedRanks:
        """The encoding of each complex of a collection."""
        return self._of(DisjointUnion.of(complexes))

    def _of(self, union: DisjointUnion) -> EncodedRanks:
        probabilities = return_probabilities(barycentric_walk(union), self.size)
        return encoded(union.split_ranks(probabilities), self.size, NO_SIGN)
