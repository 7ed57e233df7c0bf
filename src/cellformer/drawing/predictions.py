"""A picture of what is predicted for the cells of a complex, beside what is true."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, Float64
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.matrices import containment
from cellformer.drawing.canvas import aspect_of, figure_of, headline, new_row
from cellformer.drawing.colors import column_map, diverging_map
from cellformer.drawing.contrast import seen_on
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.theme import LIGHT, Theme, token_color
from cellformer.drawing.tokens import flat_positions

Panel: TypeAlias = Literal["true", "predicted", "error"]


def draw_predictions(
    cells: CellComplex,
    rank: int,
    predicted: Float[np.ndarray, " cell"],
    true: Float[np.ndarray, " cell"] | None = None,
    errors: Float[np.ndarray, " cell"] | None = None,
    labels: Sequence[str] = (),
    positions: ArrayLike | None = None,
    title: str = "",
    size: float = 4.0,
    theme: Theme = LIGHT,
    panel: Panel | None = None,
) -> Figure:
    """The complex thrice: colored by truth, by prediction and by error; once without a truth.

    Values are those of the cells of one rank, NaN where unknown; with ``labels`` they are numbers
    of classes, and ``errors`` (in 0 ... 1) must be given, which are otherwise predicted less true.
    Cells of higher rank have the mean color of theirs, cells of lower rank and unknown ones stand
    back. Meshes are seen in space. ``panel`` names the only one of the three to draw.

    Raises ValueError for a panel that needs a truth where there is none.
    """
    panels = {"predicted": predicted}
    if true is not None and np.isfinite(true).any():
        panels = {"true": true, "predicted": predicted}
        errors = predicted - true if errors is None else errors
    else:
        errors = None
    own = cells.positions if positions is None else np.asarray(positions, np.float64)
    flat = flat_positions(cells, own)
    shown = np.concatenate([values[np.isfinite(values)] for values in panels.values()])
    words = [*panels, *(["error"] if errors is not None else [])]
    if panel is not None and panel not in words:
        raise ValueError(f"without a truth there is no panel {panel!r}")
    words = words if panel is None else [panel]
    axes = new_row(len(words), size, size * aspect_of(flat) + 0.8, theme)
    for ax, word in zip(axes, words, strict=True):
        if errors is not None and word == "error":
            values, widest = errors, float(np.nanmax(np.abs(errors))) or 1.0
            colormap = column_map(theme) if labels else diverging_map(theme)
            norm = Normalize(0, 1) if labels else Normalize(-widest, widest)
        else:
            values, colormap, norm = panels[word], column_map(theme), _norm(shown)
        classes = bool(labels) and word != "error"
        colors = _classes(values, theme) if classes else colormap(norm(values))[:, :3]
        _draw(ax, cells, rank, colors, values, own, word, theme)
        if word == "true" and panel is None:
            continue  # the prediction beside it has the same colors
        if classes:
            _add_legend(ax, labels, theme)
        else:
            _add_bar(ax, colormap, norm, theme)
    figure = figure_of(axes[0])
    if title:
        figure.suptitle(title, color=theme.ink, parse_math=False)
    return figure


def _norm(values: Float[np.ndarray, " value"]) -> Normalize:
    if not len(values):
        return Normalize(0, 1)
    low, high = float(values.min()), float(values.max())
    return Normalize(low, high) if high > low else Normalize(low - 0.5, high + 0.5)


def prediction_colors(
    values: Float[np.ndarray, " cell"], labels: Sequence[str] = (), theme: Theme = LIGHT
) -> Float64[np.ndarray, "cell 3"]:
    """Red, green and blue of predicted values, or numbers of classes, as `draw_predictions` has."""
    norm = _norm(values[np.isfinite(values)])
    shown = _classes(values, theme) if labels else column_map(theme)(norm(values))[:, :3]
    return _or_faint(shown, values, theme)


def _or_faint(
    colors: Float[np.ndarray, "cell 3"], values: Float[np.ndarray, " cell"], theme: Theme
) -> Float64[np.ndarray, "cell 3"]:
    """The colors of what is known; the rest stands back."""
    back = np.array(to_rgb(theme.faint))
    return np.where(np.isfinite(values)[:, None], colors, back).astype(np.float64)


def _classes(values: Float[np.ndarray, " cell"], theme: Theme) -> Float64[np.ndarray, "cell 3"]:
    colors = [to_rgb(token_color(int(value))) for value in np.nan_to_num(values)]
    return seen_on(np.array(colors, np.float64).reshape(-1, 3), theme.page)


def _draw(
    ax: Axes,
    cells: CellComplex,
    rank: int,
    colors: Float[np.ndarray, "cell 3"],
    values: Float[np.ndarray, " cell"],
    positions: ArrayLike | None,
    word: str,
    theme: Theme,
) -> None:
    back = np.array(to_rgb(theme.faint))
    own = _or_faint(colors, values, theme)
    every = []
    for other, count in enumerate(cells.num_cells):
        if other <= rank:
            every.append(own if other == rank else np.tile(back, (count, 1)))
            continue
        members = containment(cells, rank, other).T
        number = np.maximum(np.asarray(members.sum(axis=1)).reshape(-1, 1), 1)
        every.append(np.clip(np.asarray(members @ own, np.float64) / number, 0, 1))
    draw_complex(cells, colors=every, positions=positions, ax=ax, theme=theme)
    headline(ax, word, theme)


def _add_bar(ax: Axes, colormap: Colormap, norm: Normalize, theme: Theme) -> None:
    bar = figure_of(ax).colorbar(
        ScalarMappable(norm, colormap), ax=ax, location="bottom", shrink=0.8, pad=0.03
    )
    bar.ax.tick_params(colors=theme.ink)
    bar.locator = MaxNLocator(4)  # numbers with many digits do not meet
    bar.update_ticks()
    bar.outline.set_visible(False)


def _add_legend(ax: Axes, labels: Sequence[str], theme: Theme) -> None:
    colors = _classes(np.arange(len(labels), dtype=np.float64), theme)
    handles = [
        Line2D([], [], ls="", marker="o", ms=8, color=tuple(color), label=label)
        for label, color in zip(labels, colors.tolist(), strict=True)
    ]
    legend = ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3,
                       frameon=False, labelcolor=theme.ink, fontsize=9)  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
