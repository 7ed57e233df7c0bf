"""What all pictures share: axes without frames, text on any ground, colors that must be told."""

import numpy as np
from jaxtyping import Float, Float64
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from cellformer.drawing.contrast import writing_on
from cellformer.drawing.theme import Theme

ABOVE = 0.2
"""Inches above and below axes: words above those of equal aspect would be cut by less."""


def new_axes(width: float, height: float, theme: Theme) -> Axes:
    """The only axes of a new figure, in inches."""
    ax = _figure(width, height, theme).add_subplot()
    ax.set_facecolor(theme.page)
    return ax


def aspect_of(points: Float64[np.ndarray, "point 2"]) -> float:
    """The height of a picture of these points by its width, within 0.4 ... 1.4."""
    wide, high = np.ptp(points, axis=0) if len(points) else (1.0, 1.0)
    return float(np.clip(high / wide, 0.4, 1.4)) if wide > 0 else 1.0


def new_row(
    number: int, width: float, height: float, theme: Theme, columns: int | None = None
) -> list[Axes]:
    """So many axes side by side in a new figure, each of this size, in inches.

    With ``columns`` there are no more in a row; the rest goes into rows below.
    """
    across = number if columns is None else min(columns, number)
    down = -(-number // across)
    figure = _figure(across * width, down * height, theme)
    made = [figure.add_subplot(down, across, place + 1) for place in range(number)]
    for ax in made:
        ax.set_facecolor(theme.page)
    return made


def _figure(width: float, height: float, theme: Theme) -> Figure:
    layout = ConstrainedLayoutEngine(h_pad=ABOVE)
    return Figure(figsize=(width, height), layout=layout, facecolor=theme.page)


def figure_of(ax: Axes) -> Figure:
    """The figure that the axes belong to; raises ValueError if there is none."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("ax belongs to no figure")
    return figure


def write(
    ax: Axes,
    place: Float64[np.ndarray, " 2"],
    text: str,
    size: float,
    theme: Theme,
    ground: Float[np.ndarray, "3"] | None = None,
) -> Text:
    """Text in the middle of a place, with a halo; a dollar sign is a dollar sign.

    The halo has the color of what the text lies on, ``ground``, or else of the page.
    """
    ink = theme.ink if ground is None else str(writing_on(ground))
    return ax.text(
        float(place[0]),
        float(place[1]),
        text,
        ha="center",
        va="center",
        fontsize=size,
        color=ink,
        zorder=20,
        parse_math=False,
        path_effects=[
            withStroke(
                linewidth=0.28 * size,
                foreground=theme.page if ground is None else to_hex(ground.tolist()),
            )
        ],
    )


def headline(ax: Axes, text: str, theme: Theme) -> None:
    """The title of a picture, as it is written."""
    if text:
        ax.set_title(text, color=theme.ink, parse_math=False)
