"""A picture of the steps of two random walks: those of RWBSPe and of RWPe."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_ends
from cellformer.drawing.arcs import add_arc
from cellformer.drawing.canvas import aspect_of, figure_of, headline, new_row, write
from cellformer.drawing.colors import rank_colors
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.paint import typical_length
from cellformer.drawing.theme import LIGHT, Theme
from cellformer.drawing.tokens import cell_centers, cell_names, flat_positions
from cellformer.encodings.barycentric import barycentric_walk
from cellformer.encodings.rwpe import walk_matrix

MOST_NUMBERS = 12


def draw_transitions(
    cells: CellComplex,
    rank: int,
    cell: int,
    positions: ArrayLike | None = None,
    symbols: Sequence[str] | None = None,
    title: str = "",
    size: float = 5.0,
    theme: Theme = LIGHT,
) -> Figure:
    """Where the two walks can go from one cell in a step, with probabilities of up to 12 arrows.

    Left the walk of RWBSPe, to faces and to cells that it is a face of, of any rank; right that of
    RWPe, to adjacent cells of the same rank. ``symbols`` are those of a molecule's atoms. Source:
    the paper, its figure "Differences between RWBSPe and RWPe random walks". Raises ValueError if
    there is no such cell.
    """
    if not 0 <= rank <= cells.dim or not 0 <= cell < cells.num_cells[rank]:
        raise ValueError(f"there is no cell {cell} of rank {rank}; numbers of cells by rank: "
                         f"{', '.join(map(str, cells.num_cells))}")  # fmt: skip
    points = flat_positions(cells, positions)
    centers = cell_centers(cells, points)
    before = sum(cells.num_cells[:rank])
    own = cell_names(cells, symbols)[rank][cell]
    everywhere = barycentric_walk(cells)[:, [before + cell]].toarray()[:, 0]
    among = walk_matrix(cells, rank)[:, [cell]].toarray()[:, 0]
    left, right = new_row(2, size, size * aspect_of(points) + 0.4, theme)
    walks = (
        (left, "RWBSPe: to faces and cofaces", everywhere, np.concatenate(centers)),
        (right, f"RWPe: among the cells of rank {rank}", among, centers[rank]),
    )
    for ax, told, probabilities, places in walks:
        draw_complex(cells, colors=rank_colors(cells), positions=points, ax=ax, theme=theme)
        unit = typical_length(points, edge_ends(cells))
        _add_steps(ax, centers[rank][cell], probabilities, places, unit, theme)
        headline(ax, told, theme)
    figure = figure_of(left)
    words = ("vertex", "edge") if symbols is None else ("atom", "bond")
    named = own if rank > 1 else f"{words[rank]} {own}"
    figure.suptitle(title or f"one step from {named}", color=theme.ink, parse_math=False)
    return figure


def _add_steps(
    ax: Axes,
    start: Float64[np.ndarray, " 2"],
    probabilities: Float64[np.ndarray, " cell"],
    places: Float64[np.ndarray, "cell 2"],
    unit: float,
    theme: Theme,
) -> None:
    reached = np.flatnonzero(probabilities)
    most = float(probabilities.max())
    for number in reached:
        # Wide enough to have a head, however many there are.
        share = 0.3 + 0.7 * float(probabilities[number]) / most
        add_arc(ax, start, places[number], share, theme.ink, unit)
        if len(reached) <= MOST_NUMBERS:
            told = str(Fraction(float(probabilities[number])).limit_denominator(10_000))
            stays = np.allclose(places[number], start)
            middle = 0.35 * start + 0.65 * places[number] + [0, -0.45 * unit * stays]
            write(ax, middle, f"stays: {told}" if stays else told, 9.0, theme)
    ax.plot(*start, marker="o", ms=9, mfc=theme.accent, mec=theme.page, zorder=21)
