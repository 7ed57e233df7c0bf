"""A connected piece of a large complex, to try something out on."""

import numpy as np
from scipy.sparse import csgraph

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.matrices import up_adjacency
from cellformer.complexes.subcomplex import subcomplex


def piece(cells: CellComplex, num_vertices: int) -> CellComplex:
    """Vertices that lie close together, ``num_vertices`` of them, and all cells among these.

    The vertices are the first of the reverse Cuthill-McKee order, in which neighbors have close
    numbers. Cells keep their order, features, encodings and positions. A complex that has no more
    vertices is returned as it is. The time is linear, apart from sorting.
    """
    if num_vertices >= cells.num_vertices:
        return cells
    order = csgraph.reverse_cuthill_mckee(up_adjacency(cells, 0), symmetric_mode=True)
    return subcomplex(cells, np.sort(order[:num_vertices]).astype(np.int64))
