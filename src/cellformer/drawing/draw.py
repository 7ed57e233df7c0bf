"""A picture of a complex: disks, lines and filled areas, colored by an encoding."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float64
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from cellformer.basics.files import replace_atomically
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_ends
from cellformer.drawing.canvas import aspect_of, figure_of, headline, new_axes, write
from cellformer.drawing.colors import (
    column_map,
    column_range,
    encoding_colors,
    rank_colors,
    telling_columns,
)
from cellformer.drawing.layout import layout
from cellformer.drawing.paint import Pen, paint_flat, paint_solid, typical_length
from cellformer.drawing.projection import project
from cellformer.drawing.theme import LIGHT, Theme

PICTURE_ENDINGS = (".png", ".svg", ".pdf")


def draw_complex(
    cells: CellComplex,
    columns: Sequence[int] | None = None,
    colors: Sequence[Float[np.ndarray, "_ 3"]] | None = None,
    positions: ArrayLike | None = None,
    ax: Axes | None = None,
    title: str = "",
    size: float = 6.0,
    view: tuple[float, float] = (25.0, -60.0),
    labels: Sequence[str] | None = None,
    theme: Theme = LIGHT,
    orders: Sequence[float] | None = None,
) -> Figure:
    """Draws vertices as disks, edges as lines and 2-cells as filled areas; `savefig` writes it.

    Colors are those of ``colors`` (per rank red, green, blue in 0 ... 1), or of three or one
    ``columns`` of the encodings (see `encoding_colors`; one column has a color bar), or of those
    that `telling_columns` chooses, or, without encodings, one for each rank. Cells of rank 3 and
    more are not drawn, which the picture says.

    ``positions`` of the vertices are in the plane or in space; without them the complex's own are
    used, or else `layout`. In the plane the 2-cells are translucent, the larger behind, and keep
    a small distance from their edges so that overlapping ones can be told apart. In space they
    are opaque and shaded, seen from ``view`` (degrees above the x-y plane and around the z axis).

    ``labels`` are written on the vertices (of a picture in the plane), an empty one not at all, and
    edges are doubled by their ``orders``, 2 and 3 for multiple bonds, 1.5 for aromatic ones.
    ``theme`` is the page, `LIGHT` or `DARK`. ``ax`` draws into existing axes; otherwise a new
    figure is ``size`` inches wide. Raises ValueError if positions, colors, labels or orders do not
    fit, or both ``colors`` and ``columns`` are given.
    """
    points = _positions(cells, positions)
    if colors is not None and columns is not None:
        raise ValueError("give either colors or columns of the encodings, not both")
    if colors is None and columns is None:
        columns = telling_columns(cells) or None
    if colors is None:
        colors = rank_colors(cells) if columns is None else encoding_colors(cells, columns, theme)
    _check_colors(cells, colors)

    seen = points if points.shape[1] == 2 else project(points, *view)
    unit = typical_length(seen[:, :2], edge_ends(cells))
    if ax is None:
        ax = _new_axes(seen[:, :2], size, theme)
    figure = figure_of(ax)
    _frame(ax, seen[:, :2], unit)
    flat = points.shape[1] == 2
    pen = Pen.of(unit, ax, 1.0 if flat else 0.6, theme)
    painted = (
        paint_flat(cells, seen, colors, pen, _orders(cells, orders))
        if flat
        else paint_solid(cells, seen, colors, pen)
    )
    for zorder, collection in enumerate(painted, start=1):
        collection.set_zorder(zorder)
        ax.add_collection(collection, autolim=False)
    if labels is not None and flat:
        _write_labels(ax, points, labels, colors[0], pen)
    inside = sum(cells.num_cells[3:])
    told = f"not drawn: {inside} cell{'s' * (inside > 1)} of rank 3 or more" if inside else ""
    headline(ax, "\n".join(filter(None, (title, told))), theme)
    if columns is not None and len(columns) == 1:
        _color_bar(figure, ax, cells, columns[0], theme)
    return figure


def _positions(cells: CellComplex, given: ArrayLike | None) -> Float64[np.ndarray, "vertex space"]:
    if given is None:
        own = cells.positions
        return own if own is not None and own.shape[1] in (2, 3) else layout(cells)
    points = np.asarray(given, np.float64)
    if points.ndim != 2 or len(points) != cells.num_vertices or points.shape[1] not in (2, 3):
        raise ValueError(
            f"positions must have shape ({cells.num_vertices}, 2 or 3), got {points.shape}"
        )
    if not np.isfinite(points).all():
        raise ValueError("a position is not finite")
    return points


def _check_colors(cells: CellComplex, colors: Sequence[Float[np.ndarray, "_ 3"]]) -> None:
    for rank, count in enumerate(cells.num_cells[:3]):
        if len(colors) <= rank or colors[rank].shape != (count, 3):
            raise ValueError(f"colors of rank {rank} must have shape ({count}, 3)")
        if not ((colors[rank] >= 0) & (colors[rank] <= 1)).all():
            raise ValueError(f"colors of rank {rank} must lie in 0 ... 1")


def _write_labels(
    ax: Axes,
    points: Float64[np.ndarray, "vertex 2"],
    labels: Sequence[str],
    colors: Float[np.ndarray, "vertex 3"],
    pen: Pen,
) -> None:
    if len(labels) != len(points):
        raise ValueError(f"{len(labels)} labels for {len(points)} vertices")
    size = float(np.clip(3.4 * pen.line, 4, 13))
    for place, label, color in zip(points, labels, colors, strict=True):
        if label:
            write(ax, place, label, size, pen.theme, color)


def _orders(
    cells: CellComplex, given: Sequence[float] | None
) -> Float64[np.ndarray, " edge"] | None:
    count = cells.num_cells[1] if cells.dim >= 1 else 0
    if given is not None and len(given) != count:
        raise ValueError(f"{len(given)} orders for {count} edges")
    return None if given is None else np.array(given, np.float64)


def _new_axes(points: Float64[np.ndarray, "vertex 2"], size: float, theme: Theme) -> Axes:
    return new_axes(size, size * aspect_of(points), theme)


def _frame(ax: Axes, points: Float64[np.ndarray, "vertex 2"], unit: float) -> None:
    low = points.min(axis=0) if len(points) else np.zeros(2)
    high = points.max(axis=0) if len(points) else np.zeros(2)
    ax.set_xlim(low[0] - unit / 2, high[0] + unit / 2)
    ax.set_ylim(low[1] - unit / 2, high[1] + unit / 2)
    ax.set_aspect("equal")
    ax.set_axis_off()


def _color_bar(figure: Figure, ax: Axes, cells: CellComplex, column: int, theme: Theme) -> None:
    shown = np.concatenate([rows[:, [column]] for rows in cells.encodings])
    low, span = column_range(shown.astype(np.float64))
    norm = Normalize(float(low[0]), float(low[0] + span[0]))
    bar = figure.colorbar(ScalarMappable(norm, column_map(theme)), ax=ax, shrink=0.7, pad=0.02)
    bar.set_label(f"encoding, column {column % len(cells.encoding_signs)}", color=theme.ink)
    bar.ax.tick_params(colors=theme.ink)
    bar.outline.set_visible(False)


def save_picture(
    cells: CellComplex,
    path: str | Path,
    columns: Sequence[int] | None = None,
    positions: ArrayLike | None = None,
    title: str = "",
) -> None:
    """Writes the picture of `draw_complex` to a file: .png, .svg or .pdf, by its name.

    Raises ValueError if the name ends otherwise.
    """
    target = picture_path(path)
    figure = draw_complex(cells, columns, positions=positions, title=title)
    save_figure(figure, target)


def picture_path(path: str | Path) -> Path:
    """The path; raises ValueError if its name does not end like that of a picture."""
    target = Path(path)
    if target.suffix.lower() not in PICTURE_ENDINGS:
        raise ValueError(f"{target}: a picture's name ends in .png, .svg or .pdf")
    return target


def save_figure(figure: Figure, path: str | Path) -> None:
    """Writes a figure to a .png, .svg or .pdf file, whole or not at all."""
    target = picture_path(path)
    with replace_atomically(target) as unfinished:
        figure.savefig(unfinished, dpi=200, format=target.suffix.lower().removeprefix("."))
