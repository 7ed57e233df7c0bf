"""No positional encoding: zeros."""

from dataclasses import dataclass

import numpy as np

from cellformer.complexes.cell_complex import NO_SIGN, CellComplex
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.encodings.encode import EncodedRanks, check_size, encoded


@dataclass(frozen=True)
class Zeros:
    """The zero vector for every cell (the paper, section "Experiments": "zero")."""

    size: int = 8

    def __post_init__(self) -> None:
        check_size(self.size)

    @property
    def reach(self) -> int:
        """Nothing is read."""
        return 0

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        """The encoding of a complex; its signs are fixed."""
        return encoded([np.zeros((count, 0)) for count in cells.num_cells], self.size, NO_SIGN)

    def many(self, complexes: RaggedComplexes) -> EncodedRanks:
        """The encoding of each complex of a collection."""
        counts = [len(rank.encodings) for rank in complexes.ranks]
        return encoded([np.zeros((count, 0)) for count in counts], self.size, NO_SIGN)
