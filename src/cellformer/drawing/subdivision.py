"""A complex, its barycentric subdivision, and the graph that global encodings walk on."""

import numpy as np
from jaxtyping import Float64, Int64
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.matrices import barycentric_skeleton, containment
from cellformer.drawing.canvas import aspect_of, figure_of, headline, new_row
from cellformer.drawing.colors import FACE_COLOR, rank_colors
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.theme import LIGHT, Theme
from cellformer.drawing.tokens import cell_centers, flat_positions


def draw_subdivision(
    cells: CellComplex,
    positions: ArrayLike | None = None,
    title: str = "",
    size: float = 4.5,
    theme: Theme = LIGHT,
) -> Figure:
    """Left the complex; then its subdivision, a triangle for each vertex of each edge of a 2-cell;
    right the 1-skeleton of that, with a node for every cell, in the color of its rank.

    Cells of rank 3 and more are nodes too. Source: the paper, its figure "Barycentric subdivision".
    """
    points = flat_positions(cells, positions)
    centers = cell_centers(cells, points)
    every = np.concatenate(centers)
    upper = barycentric_skeleton(cells).tocoo()
    joined = np.stack([upper.row, upper.col], axis=1)[upper.row < upper.col].astype(np.int64)
    complex_, subdivided, skeleton = new_row(3, size, size * aspect_of(points) + 0.4, theme)
    draw_complex(cells, colors=rank_colors(cells), positions=points, ax=complex_, theme=theme)
    headline(complex_, "complex", theme)
    if cells.dim >= 2:
        color = (*to_rgb(FACE_COLOR), 0.45)
        area = PolyCollection(every[_flags(cells)], facecolors=color, edgecolors="none")
        subdivided.add_collection(area, autolim=False)
    for ax, told in (
        (subdivided, "barycentric subdivision"),
        (skeleton, "its 1-skeleton: a node for each cell"),
    ):
        _add_graph(ax, cells, centers, joined, ax is skeleton, theme)
        ax.set_xlim(complex_.get_xlim())
        ax.set_ylim(complex_.get_ylim())
        ax.set_aspect("equal")
        ax.set_axis_off()
        headline(ax, told, theme)
    figure = figure_of(complex_)
    if title:
        figure.suptitle(title, color=theme.ink, parse_math=False)
    return figure


def _flags(cells: CellComplex) -> Int64[np.ndarray, "flag 3"]:
    """A vertex, an edge and a 2-cell that contain each other, as nodes of the skeleton."""
    vertices, edges = containment(cells, 0, 1).tocoo(), containment(cells, 1, 2).tocsr()
    found = [
        (vertex, cells.num_vertices + edge, cells.num_vertices + cells.num_cells[1] + face)
        for vertex, edge in zip(vertices.row.tolist(), vertices.col.tolist(), strict=True)
        for face in edges.indices[edges.indptr[edge] : edges.indptr[edge + 1]].tolist()
    ]
    return np.array(found, np.int64).reshape(-1, 3)


def _add_graph(
    ax: Axes,
    cells: CellComplex,
    centers: list[Float64[np.ndarray, "_ 2"]],
    joined: Int64[np.ndarray, "pair 2"],
    large: bool,
    theme: Theme,
) -> None:
    lines = LineCollection(list(np.concatenate(centers)[joined]), colors=theme.faint, linewidths=1)
    ax.add_collection(lines, autolim=False)
    for places, colors in zip(centers, rank_colors(cells), strict=True):
        x, y = places.T
        ax.scatter(x, y, 46 if large else 14, colors, edgecolors=theme.ink, lw=0.6, zorder=5)
