"""A part of a complex."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Int64

from cellformer.complexes.cell_complex import CellComplex


def subcomplex(cells: CellComplex, kept: Int64[np.ndarray, " kept"], rank: int = 0) -> CellComplex:
    """Some cells of a rank, by ascending numbers, all of lower ranks, and what has faces in these.

    A cell of a higher rank stays where all its faces stay. Order, features, encodings and
    positions are kept.
    """
    chosen = [np.arange(count) for count in cells.num_cells[:rank]] + [kept]
    for above, boundary in enumerate(cells.boundaries[rank:], start=rank + 1):
        missing = np.ones(cells.num_cells[above - 1], np.int64)
        missing[chosen[-1]] = 0
        chosen.append(np.flatnonzero(abs(boundary).T.astype(np.int64) @ missing == 0))
    return restricted(cells, chosen)


def restricted(cells: CellComplex, chosen: Sequence[Int64[np.ndarray, " _"]]) -> CellComplex:
    """Some cells of each rank, by ascending numbers, among which are all faces of each.

    Order, features, encodings and positions are kept.
    """
    boundaries = []
    for rank, boundary in enumerate(cells.boundaries, start=1):
        part = boundary[:, chosen[rank]][chosen[rank - 1], :]
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
