"""A picture of the contribution of each cell to a prediction."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_ends
from cellformer.drawing.canvas import headline, write
from cellformer.drawing.colors import diverging_map
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.layout import layout
from cellformer.drawing.paint import typical_length
from cellformer.drawing.separation import separate
from cellformer.drawing.theme import LIGHT, Theme
from cellformer.drawing.tokens import cell_centers
from cellformer.explaining.contributions import Contributions

MOST_NUMBERS = 12


def draw_contributions(
    cells: CellComplex,
    contributions: Contributions,
    positions: ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    title: str = "",
    size: float = 6.0,
    theme: Theme = LIGHT,
    orders: Sequence[float] | None = None,
) -> Figure:
    """Cells that lower the prediction in violet, cells that raise it in orange, zero pale.

    The numbers of the cells that matter most are written on them, with their sign, so that the
    picture can be read in gray too; where there is no room for one, beside its cell, or not.
    """
    most = max((float(np.abs(rows).max()) for rows in contributions.ranks if len(rows)), default=0)
    norm = Normalize(-(most or 1.0), most or 1.0)
    colormap = diverging_map(theme)
    colors = [colormap(norm(rows))[:, :3].astype(np.float64) for rows in contributions.ranks]
    points = cells.positions if positions is None else np.asarray(positions, np.float64)
    if points is None or points.shape[1] not in (2, 3):
        points = layout(cells)
    figure = draw_complex(cells, colors=colors, positions=points, size=size, labels=labels,
                          theme=theme, orders=orders)  # fmt: skip
    (ax,) = figure.axes
    bar = figure.colorbar(ScalarMappable(norm, colormap), ax=ax, shrink=0.7, pad=0.02)
    bar.set_label("contribution to the prediction", color=theme.ink)
    bar.ax.tick_params(colors=theme.ink)
    bar.outline.set_visible(False)
    headline(ax, title, theme)
    if points.shape[1] == 2:
        unit = typical_length(points, edge_ends(cells))
        taken = list(ax.texts)  # the letters of atoms
        numbers = [
            write(ax, place, _signed(contributions.ranks[rank][number]), 8.0, theme)
            for rank, number, place in _telling(cells, contributions, points)
        ]
        separate(ax, numbers, taken, unit)
    return figure


def _signed(value: float) -> str:
    return f"{value:+.2g}".replace("-", "\N{MINUS SIGN}")


def _telling(
    cells: CellComplex, contributions: Contributions, points: Float64[np.ndarray, "vertex 2"]
) -> list[tuple[int, int, Float64[np.ndarray, " 2"]]]:
    """Rank, number and place of the drawn cells whose contributions are the greatest."""
    centers = cell_centers(cells, points)
    drawn = [
        (abs(float(value)), rank, number)
        for rank, rows in enumerate(contributions.ranks[:3])
        for number, value in enumerate(rows)
    ]
    drawn.sort(reverse=True)
    return [
        (rank, number, centers[rank][number])
        for size, rank, number in drawn[:MOST_NUMBERS]
        if size > 0
    ]
