"""A complex without one of its cells."""

import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.subcomplex import subcomplex


def without_cell(cells: CellComplex, rank: int, number: int) -> CellComplex:
    """The largest subcomplex that lacks this cell: all cells that contain it go with it.

    What remains keeps its order, features, encodings and positions; encodings that should know of
    the change are made again by `encode`. Raises ValueError if there is no such cell.
    """
    if not 0 <= rank <= cells.dim or not 0 <= number < cells.num_cells[rank]:
        raise ValueError(f"the complex has no cell {number} of rank {rank}")
    return subcomplex(cells, np.delete(np.arange(cells.num_cells[rank]), number), rank)
