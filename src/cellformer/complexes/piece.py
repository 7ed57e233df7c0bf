"""A connected piece of a large complex, to try something out on."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csgraph

from cellformer.complexes.cell_complex import Boundary, CellComplex
from cellformer.complexes.features import Features
from cellformer.complexes.neighborhoods import up_adjacency


def piece(cells: CellComplex, num_vertices: int) -> CellComplex:
    """Vertices that lie close together, ``num_vertices`` of them, and all cells among these.

    The vertices are the first of the reverse Cuthill-McKee order, in which neighbors have close
    numbers. Cells keep their order, features, encodings and positions. A complex that has no more
    vertices is returned as it is. The time is linear, apart from sorting.
    """
    if num_vertices >= cells.num_vertices:
        return cells
    order = csgraph.reverse_cuthill_mckee(up_adjacency(cells, 0), symmetric_mode=True)
    kept = [np.sort(order[:num_vertices])]
    boundaries: list[Boundary] = []
    for rank, boundary in enumerate(cells.boundaries):
        missing = np.ones(cells.num_cells[rank], np.int64)
        missing[kept[-1]] = 0
        whole = np.flatnonzero(abs(boundary).T.astype(np.int64) @ missing == 0)
        boundaries.append(boundary[kept[-1], :][:, whole])
        boundaries[-1].sort_indices()
        kept.append(whole)
    return replace(
        cells,
        num_vertices=num_vertices,
        boundaries=tuple(boundaries),
        features=tuple(
            Features(rows.discrete[chosen], rows.continuous[chosen])
            for rows, chosen in zip(cells.features, kept, strict=True)
        ),
        encodings=tuple(rows[chosen] for rows, chosen in zip(cells.encodings, kept, strict=True)),
        positions=None if cells.positions is None else cells.positions[kept[0]],
    )
