"""Where the cells of each rank are, and what they are called."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.matrices import containment
from cellformer.drawing.layout import layout
from cellformer.drawing.projection import project


def flat_positions(cells: CellComplex, given: ArrayLike | None) -> Float64[np.ndarray, "vertex 2"]:
    """Where vertices are on a page: as given, as the complex has them, or laid out."""
    points = cells.positions if given is None else np.asarray(given, np.float64)
    if points is None or points.shape[1] not in (2, 3):
        points = layout(cells)
    return points if points.shape[1] == 2 else project(points, 25.0, -60.0)[:, :2]


def cell_centers(
    cells: CellComplex, points: Float64[np.ndarray, "vertex 2"]
) -> list[Float64[np.ndarray, "_ 2"]]:
    """The mean place of the vertices of every cell, one array per rank; a cell without is at 0."""
    centers = [points]
    for rank in range(1, cells.dim + 1):
        corners = containment(cells, 0, rank).T
        counts = np.asarray(corners.sum(axis=1)).reshape(-1, 1)
        centers.append(np.asarray(corners @ points, np.float64) / np.maximum(counts, 1))
    return centers


def rank_word(rank: int, molecule: bool, count: int = 1) -> str:
    """What a cell, or several, of a rank is called: atom, bond, ring; vertex, edge, face."""
    if rank > 2:
        return f"{rank}-cell" + "s" * (count != 1)
    word = (("atom", "bond", "ring") if molecule else ("vertex", "edge", "face"))[rank]
    return word if count == 1 else {"vertex": "vertices"}.get(word, f"{word}s")


def cell_names(cells: CellComplex, symbols: Sequence[str] | None = None) -> list[list[str]]:
    """A short name of every cell: C0, C0-N1, ring 0 in a molecule; 0, 0-1, face 0 elsewhere.

    ``symbols`` are those of the atoms. Cells of rank 3 and more are called "3-cell 0" and so on.
    """
    vertices = [
        f"{symbol}{number}" for number, symbol in enumerate(symbols or [""] * cells.num_vertices)
    ]
    names = [vertices]
    for rank in range(1, cells.dim + 1):
        word = {2: "face" if symbols is None else "ring"}.get(rank, f"{rank}-cell")
        if rank == 1:
            ends = containment(cells, 0, 1).T.tocsr().indices.reshape(-1, 2)
            names.append([f"{vertices[a]}-{vertices[b]}" for a, b in ends])
        else:
            names.append([f"{word} {number}" for number in range(cells.num_cells[rank])])
    return names
