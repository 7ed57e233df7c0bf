"""A part of a complex."""

from dataclasses import replace

import numpy as np
from jaxtyping import Int64

from cellformer.complexes.cell_complex import Boundary, CellComplex


def subcomplex(cells: CellComplex, kept: Int64[np.ndarray, " kept"], rank: int = 0) -> CellComplex:
    """Some cells of a rank, by ascending numbers, all of lower ranks, and what has faces in these.

    A cell of a higher rank stays where all its faces stay. Order, features, encodings and
    positions are kept.
    """
    chosen = [np.arange(count) for count in cells.num_cells[:rank]] + [kept]
    boundaries: list[Boundary] = []
    for above, boundary in enumerate(cells.boundaries, start=1):
        if above > rank:
            missing = np.ones(cells.num_cells[above - 1], np.int64)
            missing[chosen[-1]] = 0
            chosen.append(np.flatnonzero(abs(boundary).T.astype(np.int64) @ missing == 0))
        part = boundary[:, chosen[above]][chosen[above - 1], :]
        part.sort_indices()
        boundaries.append(part)
    return replace(
        cells,
        num_vertices=len(chosen[0]),
        boundaries=tuple(boundaries),
        features=tuple(
            rows.take(numbers) for rows, numbers in zip(cells.features, chosen, strict=True)
        ),
        encodings=tuple(
            rows[numbers] for rows, numbers in zip(cells.encodings, chosen, strict=True)
        ),
        positions=None if cells.positions is None else cells.positions[chosen[0]],
    )
