"""RWBSPe: return probabilities on the barycentric subdivision's 1-skeleton."""

from dataclasses import dataclass

from cellformer.complexes.cell_complex import NO_SIGN, CellComplex
from cellformer.encodings.barycentric import (
    barycentric_walk,
    dense_looped_skeleton,
    split_ranks,
)
from cellformer.encodings.encode import EncodedRanks, check_size, encoded
from cellformer.encodings.walks import DENSE_WALK_CELLS, return_probabilities


@dataclass(frozen=True)
class RWBSPe:
    """The probability to be back after 1 ... size steps of the walk ``A D^-1`` from cell to cell.

    Global: the walk runs through the cells of every rank. A cell without neighbors stays, with
    probability 1. Source: the paper, section "RWPe".
    """

    size: int = 8

    def __post_init__(self) -> None:
        check_size(self.size)

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        """The encoding of a complex."""
        if sum(cells.num_cells) <= DENSE_WALK_CELLS:
            dense = dense_looped_skeleton(cells)
            probabilities = return_probabilities(dense / dense.sum(axis=0), self.size)
        else:
            probabilities = return_probabilities(barycentric_walk(cells), self.size)
        return encoded(split_ranks(cells, probabilities), self.size, NO_SIGN)
