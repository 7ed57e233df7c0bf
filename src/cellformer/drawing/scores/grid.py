"""A picture of scores: a grid of attentions and encodings for each data set."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure

from cellformer.drawing.contrast import writing_on
from cellformer.drawing.theme import LIGHT, Theme

COLORMAP = "cividis"  # made for all kinds of color vision; the better, the brighter
PLACES = {1: "1st", 2: "2nd", 3: "3rd"}
DECIMALS = 4


@dataclass(frozen=True, eq=False)
class ScorePanel:
    """The scores of one data set by row and column."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Mapping[tuple[str, str], tuple[float, float]]
    """Score and its deviation, which may be NaN; a combination that is missing stays blank."""
    reference: Mapping[tuple[str, str], float]
    """Values to compare with, written below."""
    places: Mapping[tuple[str, str], int]
    """1 for the best; the first three are marked."""
    higher: bool
    """Whether a larger score is a better one."""


def draw_score_grid(panels: Sequence[ScorePanel], theme: Theme = LIGHT) -> Figure:
    """One grid below the other; brighter is better, within each grid by itself.

    Numbers are written in every field, so that colors only help. The first three places are framed
    and named.
    """
    heights = [0.9 + 0.62 * len(panel.rows) for panel in panels]
    width = 2.2 + 1.35 * max(len(panel.columns) for panel in panels)
    figure = Figure(figsize=(width, sum(heights)), layout="constrained", facecolor=theme.page)
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, panel in zip(axes, panels, strict=True):
        _draw(ax, panel, theme)
    return figure


def _draw(ax: Axes, panel: ScorePanel, theme: Theme) -> None:
    known = [value for value, _ in panel.values.values() if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    norm = Normalize(low, high if high > low else low + 1)
    colormap = matplotlib.colormaps[COLORMAP if panel.higher else f"{COLORMAP}_r"]
    ax.set_facecolor(theme.page)
    ax.set_xlim(0, len(panel.columns))
    ax.set_ylim(len(panel.rows), 0)
    for y, row in enumerate(panel.rows):
        for x, column in enumerate(panel.columns):
            _field(ax, panel, (row, column), (x, y), norm, colormap, theme)
    ax.set_xticks(np.arange(len(panel.columns)) + 0.5, panel.columns, color=theme.ink)
    ax.set_yticks(np.arange(len(panel.rows)) + 0.5, panel.rows, color=theme.ink)
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_title(panel.title, color=theme.ink, loc="left", parse_math=False, fontweight="bold")


def _field(
    ax: Axes,
    panel: ScorePanel,
    key: tuple[str, str],
    at: tuple[int, int],
    norm: Normalize,
    colormap: matplotlib.colors.Colormap,
    theme: Theme,
) -> None:
    x, y = at
    value, deviation = panel.values.get(key, (math.nan, math.nan))
    shown = math.isfinite(value)
    fill = colormap(norm(value)) if shown else theme.page
    patch = matplotlib.patches.Rectangle((x + 0.02, y + 0.03), 0.96, 0.94, facecolor=fill)
    patch.set_edgecolor(theme.faint if not shown else "none")
    patch.set_linestyle("-" if shown else ":")
    ax.add_patch(patch)
    ink = str(writing_on(np.array(to_rgb(fill))))
    if not shown:
        missing = "undefined" if key in panel.values else "-"
        ax.text(x + 0.5, y + 0.5, missing, ha="center", va="center", color=theme.ink, fontsize=9)
        return
    place = panel.places.get(key, 0)
    text = f"{value:.{DECIMALS}f}"
    if place in PLACES:
        patch.set_edgecolor(theme.ink)
        patch.set_linewidth(3.2 - 0.8 * place)
        text += f"  {PLACES[place]}"
    lines = [text]
    if math.isfinite(deviation):
        lines.append(f"± {deviation:.{DECIMALS}f}")
    if key in panel.reference:
        lines.append(f"paper {panel.reference[key]:.{DECIMALS}f}")
    top = y + 0.5 - 0.13 * (len(lines) - 1)
    for number, line in enumerate(lines):
        bold = "bold" if number == 0 and place in PLACES else "normal"
        ax.text(x + 0.5, top + 0.26 * number, line, ha="center", va="center", color=ink,
                fontsize=9.5 if number == 0 else 8, fontweight=bold)  # fmt: skip
