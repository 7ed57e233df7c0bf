"""Colors of cells that show an encoding."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from jaxtyping import Float64
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap, to_rgb

from cellformer.complexes.cell_complex import CellComplex
from cellformer.drawing.contrast import LEAST, contrast, seen_on
from cellformer.drawing.theme import LIGHT, Theme

COLORMAP = "viridis"  # perceptually uniform, legible in gray and for all color vision
VERTEX_COLOR, EDGE_COLOR, FACE_COLOR = "#0072B2", "#626E7A", "#E69F00"  # Okabe and Ito's palette


def encoding_colors(
    cells: CellComplex, columns: Sequence[int] = (0, 1, 2), theme: Theme = LIGHT
) -> tuple[Float64[np.ndarray, "_ 3"], ...]:
    """A color for every cell, as one array (cells, 3) of red, green, blue in 0 ... 1 per rank.

    Three columns are the three color channels, each scaled to 0 ... 1 over the cells of all ranks
    together (how the paper's figures color cells), and then darkened or lightened until they are
    seen on the page (see `seen_on`). One column is scaled likewise and read off `column_map`. A
    column that is the same for all cells is at the middle, 0.5.

    Raises ValueError if there are not one or three columns, or the encodings lack one.
    """
    chosen = list(columns)
    if len(chosen) not in (1, 3):
        raise ValueError(f"colors show one or three columns of the encodings, got {len(chosen)}")
    width = len(cells.encoding_signs)
    for column in chosen:
        if not -width <= column < width:
            raise ValueError(
                f"the encodings have {width} columns, there is no column {column} to show"
            )
    values = np.concatenate([rows[:, chosen] for rows in cells.encodings]).astype(np.float64)
    low, span = column_range(values)
    scaled = np.where(span > 0, (values - low) / np.where(span > 0, span, 1), 0.5)
    if len(chosen) == 1:
        shown = column_map(theme)(scaled[:, 0])[:, :3].astype(np.float64)
    else:
        shown = seen_on(scaled, theme.page)
    ends = np.cumsum(cells.num_cells)[:-1]
    return tuple(np.split(shown, ends))


def column_map(theme: Theme) -> Colormap:
    """The part of viridis that is seen on the page: not its brightest colors on a light one."""
    every = matplotlib.colormaps[COLORMAP](np.linspace(0, 1, 1024))
    return ListedColormap(every[contrast(every[:, :3], theme.page) >= LEAST].tolist())


def diverging_map(theme: Theme) -> Colormap:
    """Violet below zero, near the page at zero, orange above: told apart by all color vision."""
    ends = [seen_on(np.array(to_rgb(color)), theme.page) for color in ("#7B4FB5", "#D95F02")]
    middle = 0.12 * np.array(to_rgb(theme.ink)) + 0.88 * np.array(to_rgb(theme.page))
    listed = [tuple(color.tolist()) for color in (ends[0], middle, ends[1])]
    return LinearSegmentedColormap.from_list("diverging", listed, 257)


def telling_columns(cells: CellComplex) -> tuple[int, ...]:
    """Three columns of the encodings that tell many cells apart, or one, or none if there is none.

    The first three will do unless they are nearly the same for most cells, as the return
    probabilities of odd walks are, or eigenvectors that only name a connected component. So a
    column counts from 0.6 of the greatest entropy of any column (of its histogram over 32 bins);
    where fewer than three do, those of the greatest entropy are taken.
    """
    values = np.concatenate(cells.encodings).astype(np.float64)
    count = values.shape[1]
    if not values.size:
        return ()
    entropies = np.array([_entropy(column) for column in values.T])
    wanted = 3 if count >= 3 else 1
    chosen = np.flatnonzero(entropies >= 0.6 * entropies.max())[:wanted]
    if len(chosen) < wanted:
        chosen = np.sort(np.argsort(-entropies, kind="stable")[:wanted])
    return tuple(chosen.tolist())


def _entropy(values: Float64[np.ndarray, " cell"]) -> float:
    # Encodings of equal cells differ by rounding, which must not fill a range of its own.
    if np.ptp(values) <= 1e-6 * np.abs(values).max():
        return 0.0
    share = np.histogram(values, 32)[0] / len(values)
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())


def column_range(
    values: Float64[np.ndarray, "cell column"],
) -> tuple[Float64[np.ndarray, " column"], Float64[np.ndarray, " column"]]:
    """The lowest value and the width of the range of every column; 0 where there are no cells."""
    if not len(values):
        return np.zeros(values.shape[1]), np.zeros(values.shape[1])
    low = values.min(axis=0)
    return low, values.max(axis=0) - low


def rank_colors(cells: CellComplex) -> tuple[Float64[np.ndarray, "_ 3"], ...]:
    """The same color for all cells of a rank."""
    by_rank = [VERTEX_COLOR, EDGE_COLOR, *[FACE_COLOR] * (cells.dim - 1)]
    return tuple(
        np.tile(np.array(matplotlib.colors.to_rgb(color)), (count, 1))
        for color, count in zip(by_rank, cells.num_cells, strict=False)
    )
