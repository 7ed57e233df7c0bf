"""A picture of models in the order of their scores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cellformer.drawing.theme import LIGHT, Theme

OURS, OTHERS = "#D55E00", "#0072B2"


@dataclass(frozen=True)
class RankRow:
    """A model and its score; the deviation may be NaN."""

    name: str
    value: float
    deviation: float
    ours: bool


@dataclass(frozen=True, eq=False)
class RankPanel:
    """The models of one data set."""

    title: str
    rows: tuple[RankRow, ...]
    higher: bool
    """Whether a larger score is a better one."""


def draw_score_ranks(panels: Sequence[RankPanel], theme: Theme = LIGHT) -> Figure:
    """The best model on top, with its deviation where it has one; ours are diamonds."""
    heights = [1.0 + 0.3 * max(len(panel.rows), 1) for panel in panels]
    figure = Figure(figsize=(8.0, sum(heights)), layout="constrained", facecolor=theme.page)
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, panel in zip(axes, panels, strict=True):
        _draw(ax, panel, theme)
    return figure


def _draw(ax: Axes, panel: RankPanel, theme: Theme) -> None:
    ax.set_facecolor(theme.page)
    rows = sorted(
        (row for row in panel.rows if math.isfinite(row.value)),
        key=lambda row: row.value,
        reverse=panel.higher,
    )
    for place, row in enumerate(rows):
        color, marker = (OURS, "D") if row.ours else (OTHERS, "o")
        spread = row.deviation if math.isfinite(row.deviation) else 0.0
        ax.errorbar(row.value, place, xerr=spread or None, fmt=marker, color=color, ms=6,
                    capsize=3, lw=1.4)  # fmt: skip
        text = f"  {row.value:.4f}" + (f" ± {spread:.4f}" if spread else "")
        ax.annotate(text, (row.value + spread, place), va="center", fontsize=8, color=theme.ink,
                    xytext=(4, 0), textcoords="offset points")  # fmt: skip
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    for label, row in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_color(OURS if row.ours else theme.ink)
        label.set_fontweight("bold" if row.ours else "normal")
        label.set_parse_math(False)
    ax.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    ax.margins(x=0.3)
    ax.grid(axis="x", color=theme.faint, alpha=0.35, lw=0.6)
    ax.tick_params(colors=theme.ink, length=0)
    for label, row in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_color(OURS if row.ours else theme.ink)
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(theme.faint)
    ax.set_title(panel.title, color=theme.ink, loc="left", parse_math=False, fontweight="bold")
