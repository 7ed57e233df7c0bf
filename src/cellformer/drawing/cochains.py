"""A picture of an annotated complex: its cells rank by rank, and the values of each."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.drawing.canvas import figure_of, headline
from cellformer.drawing.colors import COLORMAP, column_range, rank_colors
from cellformer.drawing.diagram import WORDS
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.theme import LIGHT, Theme
from cellformer.drawing.tokens import cell_names, flat_positions

MOST_NAMES = 40


def draw_cochains(
    cells: CellComplex,
    positions: ArrayLike | None = None,
    symbols: Sequence[str] | None = None,
    title: str = "",
    size: float = 4.5,
    theme: Theme = LIGHT,
) -> Figure:
    """Left the complex; beside it a table for each rank, a row for each cell.

    Columns are the features of the rank, categories before numbers before those that flip with the
    orientation, then the encodings behind a gap; each is colored over its own range. ``symbols``
    are those of a molecule's atoms. Source: the paper, its figure "Illustration of an annotated
    cell complex".
    """
    points = flat_positions(cells, positions)
    tables = [_values(cells, rank) for rank in range(cells.dim + 1)]
    columns = [max(1, sum(part.shape[1] for part in parts)) for parts in tables]
    widths = [size, *(0.9 + 0.2 * number for number in columns)]
    rows = max(1, *(len(parts[0]) for parts in tables))
    height = float(np.clip(0.22 * rows + 1.2, size, 14))
    figure = Figure(figsize=(sum(widths), height), layout="constrained", facecolor=theme.page)
    grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
    ax = figure.add_subplot(grid[0])
    draw_complex(cells, colors=rank_colors(cells), positions=points, ax=ax, theme=theme)
    headline(ax, "cells", theme)
    names = cell_names(cells, symbols)
    for rank, parts in enumerate(tables):
        shown = figure.add_subplot(grid[rank + 1])
        _add_table(shown, parts, names[rank], rows, theme)
        word = WORDS[rank] if rank < len(WORDS) else f"{rank}-cells"
        told = [
            f"{kind}: {part.shape[1]}"
            for part, kind in zip(parts, ("features", "encodings"), strict=True)
            if part.shape[1]
        ]
        lines = [f"{word}: {len(parts[0])}", *(told or ["no values"])]
        headline(shown, "\n".join(lines), theme)
    if title:
        figure.suptitle(title, color=theme.ink, parse_math=False)
    return figure_of(ax)


def _values(cells: CellComplex, rank: int) -> tuple[Float64[np.ndarray, "cell _"], ...]:
    """The features of a rank, and its encodings."""
    own = cells.features[rank]
    kinds = (own.discrete, own.continuous, own.signed)
    features = np.hstack([columns.astype(np.float64) for columns in kinds])
    encodings: Float64[np.ndarray, "cell _"] = cells.encodings[rank].astype(np.float64)
    return features, encodings


def _add_table(
    ax: Axes,
    parts: tuple[Float64[np.ndarray, "cell _"], ...],
    names: list[str],
    rows: int,
    theme: Theme,
) -> None:
    """Squares of a row for each cell, from the top; those of encodings half a square aside."""
    left, colormap = 0.0, matplotlib.colormaps[COLORMAP]
    for values in parts:
        low, span = column_range(values)
        scaled = np.where(span > 0, (values - low) / np.where(span > 0, span, 1), 0.5)
        if scaled.size:
            edges = np.arange(scaled.shape[1] + 1) + left, np.arange(len(scaled) + 1)
            ax.pcolormesh(*edges, scaled, cmap=colormap, vmin=0, vmax=1, edgecolors=theme.page,
                          linewidth=1)  # fmt: skip
        left += scaled.shape[1] + 0.5 * (scaled.shape[1] > 0)
    ax.patch.set_visible(False)
    ax.set_xlim(0, max(left, 1.0))
    ax.set_ylim(rows, 0)
    ax.set_aspect("equal", anchor="N")
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xticks([])
    ax.tick_params(axis="y", colors=theme.ink, length=0)
    named = len(names) <= MOST_NAMES
    ax.set_yticks(np.arange(len(names)) + 0.5 if named else [], names if named else [],
                  fontsize=7, parse_math=False)  # fmt: skip
