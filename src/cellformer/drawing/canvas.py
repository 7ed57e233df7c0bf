"""What all pictures share: axes without frames, text on any ground, colors that must be told."""

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from cellformer.drawing.theme import Theme


def new_axes(width: float, height: float, theme: Theme) -> Axes:
    """The only axes of a new figure, in inches."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor=theme.page)
    ax = figure.add_subplot()
    ax.set_facecolor(theme.page)
    return ax


def aspect_of(points: Float64[np.ndarray, "point 2"]) -> float:
    """The height of a picture of these points by its width, within 0.4 ... 1.4."""
    wide, high = np.ptp(points, axis=0) if len(points) else (1.0, 1.0)
    return float(np.clip(high / wide, 0.4, 1.4)) if wide > 0 else 1.0


def new_row(number: int, width: float, height: float, theme: Theme) -> list[Axes]:
    """So many axes side by side in a new figure, each of this size, in inches."""
    figure = Figure(figsize=(number * width, height), layout="constrained", facecolor=theme.page)
    made = [figure.add_subplot(1, number, place + 1) for place in range(number)]
    for ax in made:
        ax.set_facecolor(theme.page)
    return made


def figure_of(ax: Axes) -> Figure:
    """The figure that the axes belong to; raises ValueError if there is none."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("ax belongs to no figure")
    return figure


def write(ax: Axes, place: Float64[np.ndarray, " 2"], text: str, size: float, theme: Theme) -> None:
    """Text in the middle of a place, with a halo; a dollar sign is a dollar sign."""
    ax.text(
        float(place[0]),
        float(place[1]),
        text,
        ha="center",
        va="center",
        fontsize=size,
        color=theme.ink,
        zorder=20,
        parse_math=False,
        path_effects=[withStroke(linewidth=0.28 * size, foreground=theme.page)],
    )


def headline(ax: Axes, text: str, theme: Theme) -> None:
    """The title of a picture, as it is written."""
    if text:
        ax.set_title(text, color=theme.ink, parse_math=False)
