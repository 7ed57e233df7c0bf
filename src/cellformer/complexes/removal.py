"""A complex without one of its cells."""

from dataclasses import replace

import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.features import Features


def without_cell(cells: CellComplex, rank: int, number: int) -> CellComplex:
    """The largest subcomplex that lacks this cell: all cells that contain it go with it.

    What remains keeps its order, features, encodings and positions; encodings that should know of
    the change are made again by `encode`. Raises ValueError if there is no such cell.
    """
    if not 0 <= rank <= cells.dim or not 0 <= number < cells.num_cells[rank]:
        raise ValueError(f"the complex has no cell {number} of rank {rank}")
    kept = [np.ones(count, bool) for count in cells.num_cells]
    kept[rank][number] = False
    for above in range(rank + 1, cells.dim + 1):
        lost_faces = abs(cells.boundary(above)).T.astype(np.int64) @ ~kept[above - 1]
        kept[above] = lost_faces == 0
    boundaries = []
    for above, boundary in enumerate(cells.boundaries, start=1):
        smaller = boundary[:, kept[above]][kept[above - 1], :]
        smaller.sort_indices()
        boundaries.append(smaller)
    return replace(
        cells,
        num_vertices=int(kept[0].sum()),
        boundaries=tuple(boundaries),
        features=tuple(
            Features(of_rank.discrete[keep], of_rank.continuous[keep])
            for of_rank, keep in zip(cells.features, kept, strict=True)
        ),
        encodings=tuple(rows[keep] for rows, keep in zip(cells.encodings, kept, strict=True)),
        positions=None if cells.positions is None else cells.positions[kept[0]],
    )
