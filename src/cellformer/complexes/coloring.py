"""Colors of cells that do not depend on their numbers, by refinement along boundaries."""

import numpy as np
from jaxtyping import UInt64
from numpy.typing import NDArray

from cellformer.complexes.cell_complex import CellComplex

_ROUNDS = 16
_ODD = np.uint64(0x9E3779B97F4A7C15)


def cell_colors(cells: CellComplex) -> tuple[UInt64[np.ndarray, " cell"], ...]:
    """A color for each cell of each rank: equal for cells that a relabelling can exchange.

    Cells with other surroundings differ as far as color refinement (Weisfeiler and Leman) on
    boundaries tells them apart in 16 rounds, but for collisions of 64 bits. Features, signs and
    numbers have no part in it, and all of it is exact, so that colors can be sorted.
    """
    counts = cells.num_cells
    colors = [np.full(count, rank + 1, np.uint64) for rank, count in enumerate(counts)]
    joined = [boundary.tocoo() for boundary in cells.boundaries]
    for _ in range(_ROUNDS):
        for rank, count in enumerate(counts):
            below = np.zeros(count, np.uint64)
            above = np.zeros(count, np.uint64)
            if rank:
                faces = joined[rank - 1]
                np.add.at(below, faces.col, _mixed(colors[rank - 1])[faces.row])
            if rank < cells.dim:
                cofaces = joined[rank]
                np.add.at(above, cofaces.row, _mixed(colors[rank + 1])[cofaces.col])
            colors[rank] = _mixed(colors[rank] + _ODD * _mixed(below) + _mixed(above + _ODD))
    return tuple(colors)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64 bits in which each bit depends on all: the last step of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
