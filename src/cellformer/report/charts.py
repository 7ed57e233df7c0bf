"""The charts of a report."""

from collections.abc import Sequence

import matplotlib
import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int64
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cellformer.drawing.canvas import figure_of, new_axes
from cellformer.drawing.contrast import writing_on
from cellformer.drawing.inline import INLINE
from cellformer.report.calibration import LEVELS, Reliability
from cellformer.training.runs.curve import JOINT

FIRST, SECOND = INLINE.accent, "#D55E00"


def learning_curves(
    curve: pd.DataFrame,
    metric: str,
    best_epoch: int | None,
    of: str = "",
    together: float | None = None,
) -> dict[str, Figure]:
    """Training and validation loss, and the metric, over the epochs; the best one is marked.

    ``of`` says what validates while training (see `answering`) where it is not the whole model.
    Beside it stands the metric of the whole one, where the curve has it, and else ``together``,
    that of the best epoch.
    """
    score = f"Validation {metric}"
    label = of.removeprefix(" of ").removeprefix("the ") or "validation"
    wanted = {
        "Loss": (("train_loss", "training", "--", SECOND), ("val_loss", "validation", "-", FIRST)),
        score: (
            (f"val_{metric}", label, "-", FIRST),
            (joint := f"val_{metric}{JOINT}", "whole model", "--", SECOND),
        ),
    }
    epochs = curve["epoch"].to_numpy(float) + 1
    marker = "." if len(epochs) <= 40 else None
    made = {}
    for title, lines in wanted.items():
        ax = _square()
        for name, words, line, color in lines:
            if name in curve:
                ax.plot(epochs, curve[name], line, color=color, label=words, marker=marker)
        if best_epoch is not None and best_epoch <= len(epochs):
            ax.axvline(best_epoch, color=INLINE.faint, ls=":", label="best epoch")
            if title == score and of and together is not None and joint not in curve:
                ax.axhline(together, color=SECOND, ls="--", label="best epoch, whole model")
        ax.set_xlabel("epoch", color=INLINE.ink)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
        _legend(ax)
        made[title] = figure_of(ax)
    return made


def predicted_against_true(
    true: Float[np.ndarray, " row"],
    predicted: Float[np.ndarray, " row"],
    reach: float | Float[np.ndarray, "side row"],
) -> Figure:
    """A dot per row in the order given, in a group called "points".

    The interval reaches so far to each side: a band, or a bar for each row.
    """
    ax = _square()
    both = np.concatenate([true, predicted])
    low, high = (float(both.min()), float(both.max())) if len(both) else (0.0, 1.0)
    ends = np.array([low, high])
    ax.plot(ends, ends, color=INLINE.faint, lw=1)
    if isinstance(reach, np.ndarray):
        bars = np.where(np.isfinite(reach), reach, 0)
        ax.errorbar(
            true, predicted, bars, fmt="none", ecolor=INLINE.faint, elinewidth=0.8, alpha=0.6
        )
    elif np.isfinite(reach):
        ax.fill_between(ends, ends - reach, ends + reach, color=INLINE.faint, alpha=0.18, lw=0)
    dots = ax.scatter(true, predicted, s=16, color=FIRST, alpha=0.65, linewidths=0, zorder=3)
    dots.set_gid("points")
    ax.set_xlabel("true", color=INLINE.ink)
    ax.set_ylabel("predicted", color=INLINE.ink)
    return figure_of(ax)


def errors_by_deviation(
    said: Float[np.ndarray, " group"], came_true: Float[np.ndarray, " group"], whose: str
) -> Figure:
    """The root mean square of errors of groups of rows against what was said of them."""
    ax = _square()
    ends = [0, 1.05 * float(max(said.max(), came_true.max()))]
    ax.plot(ends, ends, color=INLINE.faint, lw=1, label="as it says")
    ax.plot(said, came_true, "o-", color=FIRST, ms=4, label="this run")
    ax.set_xlabel(whose, color=INLINE.ink)
    ax.set_ylabel("root mean square error", color=INLINE.ink)
    ax.set(xlim=ends, ylim=ends)
    _legend(ax)
    return figure_of(ax)


def interval_coverage(covered: Float64[np.ndarray, " level"]) -> Figure:
    """The share of test values within the interval against what the interval promises."""
    ax = _square()
    ax.plot([0, 1], [0, 1], color=INLINE.faint, lw=1, label="as promised")
    ax.plot(LEVELS, covered, "o-", color=FIRST, ms=4, label="this run")
    ax.set_xlabel("promised share within the interval", color=INLINE.ink)
    ax.set_ylabel("share of the test values", color=INLINE.ink)
    _unit(ax)
    _legend(ax)
    return figure_of(ax)


def reliability_chart(found: Reliability) -> Figure:
    """What came true against what was said, dots as large as they count."""
    ax = _square()
    ax.plot([0, 1], [0, 1], color=INLINE.faint, lw=1)
    sizes = 15 + 150 * found.counts / max(1, int(found.counts.max(initial=1)))
    ax.plot(found.said, found.true, color=FIRST, lw=1)
    ax.scatter(found.said, found.true, s=sizes, color=FIRST, alpha=0.8, linewidths=0)
    ax.set_xlabel("predicted probability", color=INLINE.ink)
    ax.set_ylabel("share that came true", color=INLINE.ink)
    _unit(ax)
    return figure_of(ax)


def curve_chart(
    x: Float[np.ndarray, " point"],
    y: Float[np.ndarray, " point"],
    words: tuple[str, str],
    chance: Sequence[tuple[float, float]],
) -> Figure:
    """A ROC or precision-recall curve, and the line of guessing."""
    ax = _square()
    ax.plot(*zip(*chance, strict=True), color=INLINE.faint, ls="--", lw=1, label="guessing")
    ax.plot(x, y, color=FIRST, lw=1.8, label="this run")
    ax.set_xlabel(words[0], color=INLINE.ink)
    ax.set_ylabel(words[1], color=INLINE.ink)
    _unit(ax)
    _legend(ax)
    return figure_of(ax)


def confusion_chart(counts: Int64[np.ndarray, "true predicted"], labels: Sequence[str]) -> Figure:
    """How often each class was taken for each, with the numbers, shaded by share of the row."""
    ax = _square()
    ax.grid(False)
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares = counts / totals
    edges = np.arange(len(labels) + 1) - 0.5
    colormap = matplotlib.colormaps["Blues"]
    ax.pcolormesh(edges, edges, shares, cmap=colormap, vmin=0, vmax=1)
    inks = writing_on(colormap(shares)[..., :3])
    ax.invert_yaxis()
    for (row, column), count in np.ndenumerate(counts):
        ink = str(inks[row, column])
        ax.text(column, row, f"{count}", ha="center", va="center", color=ink)
    ticks = range(len(labels))
    ax.set_xticks(ticks, list(labels), rotation=45 if len(labels) > 4 else 0, parse_math=False)
    ax.set_yticks(ticks, list(labels), parse_math=False)
    ax.set_xlabel("predicted", color=INLINE.ink)
    ax.set_ylabel("true", color=INLINE.ink)
    return figure_of(ax)


def _square() -> Axes:
    ax = new_axes(3.7, 3.4, INLINE)
    _style(ax)
    return ax


def _style(ax: Axes) -> None:
    ax.set_facecolor(INLINE.page)
    ax.tick_params(colors=INLINE.ink, labelsize=9)
    ax.set_axisbelow(True)  # else grid lines lie over dots, and the pointer does not reach them
    ax.grid(color=INLINE.faint, alpha=0.25, lw=0.6)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INLINE.faint)


def _legend(ax: Axes) -> None:
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, labelcolor=INLINE.ink, fontsize=9)


def _unit(ax: Axes) -> None:
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
