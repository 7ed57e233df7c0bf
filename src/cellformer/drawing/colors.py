"""Colors of cells that show an encoding."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from jaxtyping import Float64

from cellformer.complexes.cell_complex import CellComplex

COLORMAP = "viridis"  # perceptually uniform, legible in gray and for all color vision
VERTEX_COLOR, EDGE_COLOR, FACE_COLOR = "#0072B2", "#5A6672", "#E69F00"  # Okabe and Ito's palette


def encoding_colors(
    cells: CellComplex, columns: Sequence[int] = (0, 1, 2)
) -> tuple[Float64[np.ndarray, "_ 3"], ...]:
    """A color for every cell, as one array (cells, 3) of red, green, blue in 0 ... 1 per rank.

    Three columns are the three color channels, each scaled to 0 ... 1 over the cells of all ranks
    together (how the paper's figures color cells). One column is scaled likewise and read off the
    colormap viridis. A column that is the same for all cells is at the middle, 0.5.

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
        scaled = matplotlib.colormaps[COLORMAP](scaled[:, 0])[:, :3].astype(np.float64)
    ends = np.cumsum(cells.num_cells)[:-1]
    return tuple(np.split(scaled, ends))


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
