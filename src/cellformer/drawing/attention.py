"""Pictures of attention: arcs over the complex, or a matrix."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_hex, to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_ends
from cellformer.drawing.arcs import add_arc
from cellformer.drawing.canvas import figure_of, headline, new_axes, write
from cellformer.drawing.colors import COLORMAP
from cellformer.drawing.contrast import seen_on
from cellformer.drawing.draw import draw_complex
from cellformer.drawing.paint import typical_length
from cellformer.drawing.theme import LIGHT, Theme, token_color
from cellformer.drawing.tokens import cell_centers, cell_names, flat_positions, rank_word
from cellformer.explaining.attention import ArrowWeights

MOST_ARCS = 400
MOST_NAMES = 48


def draw_attention(
    cells: CellComplex,
    attention: ArrowWeights,
    head: int | None = None,
    positions: ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    size: float = 6.0,
    theme: Theme = LIGHT,
    orders: Sequence[float] | None = None,
) -> Figure:
    """An arc from every sending to every receiving cell, the wider the greater the weight.

    ``head`` is the number of a head, or None for the mean over all. Every 2-cell has a color
    and, where there are at most 48, its number; arcs that begin or end at a 2-cell have its
    color, so that its attention can be followed. A ring around a cell is its attention to
    itself. Where there are more than 400 pairs, the strongest are drawn, and the picture says so.
    """
    weights = attention.of_head(head)
    points = flat_positions(cells, positions)
    figure = draw_complex(
        cells, colors=_quiet_colors(cells, theme), positions=points, size=size, labels=labels,
        theme=theme, orders=orders,
    )  # fmt: skip
    (ax,) = figure.axes
    unit = typical_length(points, edge_ends(cells))
    centers = cell_centers(cells, points)
    scale = ax.transData.transform([(0, 0), (unit, 0)])
    size_of_text = float(np.clip(0.22 * np.ptp(scale[:, 0]), 5, 14))
    if cells.dim >= 2 and cells.num_cells[2] <= MOST_NAMES:
        for number, place in enumerate(centers[2]):
            write(ax, place, str(number), size_of_text, theme)
    strongest = np.argsort(-weights, kind="stable")[:MOST_ARCS]
    most = float(weights.max()) if len(weights) else 1.0
    for pair in strongest[::-1]:
        sender, receiver = int(attention.senders[pair]), int(attention.receivers[pair])
        start = centers[attention.sender_rank][sender]
        stop = centers[attention.receiver_rank][receiver]
        color = _arc_color(attention, sender, receiver, theme)
        add_arc(ax, start, stop, float(weights[pair]) / most, color, unit)
    told = _title(attention, head) if title is None else title
    if len(weights) > MOST_ARCS:
        told += f"\nthe strongest {MOST_ARCS} of {len(weights)} pairs"
    headline(ax, told, theme)
    ax.text(0.5, -0.01, f"widest arc: weight {most:.2f}", transform=ax.transAxes, ha="center",
            va="top", color=theme.ink, fontsize=9)  # fmt: skip
    return figure


def draw_attention_matrix(
    cells: CellComplex,
    attention: ArrowWeights,
    head: int | None = None,
    symbols: Sequence[str] | None = None,
    title: str | None = None,
    size: float = 6.0,
    theme: Theme = LIGHT,
) -> Figure:
    """One row per receiving and one column per sending cell; pairs that never meet stay blank.

    ``symbols`` are those of a molecule's atoms. Names stand at the axes where there are at most
    48 of them; 2-cells carry the colors that they have in `draw_attention`.
    """
    weights = attention.of_head(head)
    names = cell_names(cells, symbols)
    rows, columns = names[attention.receiver_rank], names[attention.sender_rank]
    matrix = np.full((len(rows), len(columns)), np.nan)
    matrix[attention.receivers, attention.senders] = weights
    wide, high = (float(np.clip(0.2 * len(side), 1.5, 9)) for side in (columns, rows))
    ax = new_axes(max(size * 0.6, wide + 2.2), max(size * 0.45, high + 1.6), theme)
    most = float(np.nanmax(matrix)) if len(weights) else 1.0
    image = ax.imshow(matrix, cmap=COLORMAP, norm=Normalize(0, most), aspect="auto",
                      interpolation="nearest")  # fmt: skip
    _name_axis(ax, "y", rows, attention.receiver_rank, theme)
    _name_axis(ax, "x", columns, attention.sender_rank, theme)
    senders, receivers = (
        rank_word(rank, symbols is not None, 2)
        for rank in (attention.sender_rank, attention.receiver_rank)
    )
    ax.set_xlabel(f"senders: {senders}", color=theme.ink)
    ax.set_ylabel(f"receivers: {receivers}", color=theme.ink)
    for spine in ax.spines.values():
        spine.set_color(theme.faint)
    figure = figure_of(ax)
    bar = figure.colorbar(image, ax=ax, pad=0.02)
    bar.set_label("weight", color=theme.ink)
    bar.ax.tick_params(colors=theme.ink)
    bar.outline.set_visible(False)
    headline(ax, _title(attention, head) if title is None else title, theme)
    return figure


def _title(attention: ArrowWeights, head: int | None) -> str:
    of = "mean of all heads" if head is None else f"head {head}"
    arrow = attention.arrow.replace("->", "→")
    return f"layer {attention.layer}, {of}, rank {arrow}"


def _quiet_colors(cells: CellComplex, theme: Theme) -> list[Float64[np.ndarray, "_ 3"]]:
    """Vertices and edges stand back; every 2-cell has its color."""
    colors = [np.tile(np.array(to_rgb(theme.faint)), (count, 1)) for count in cells.num_cells]
    if cells.dim >= 2:
        faces = [to_rgb(token_color(number)) for number in range(cells.num_cells[2])]
        paler = 0.5 * np.array(faces, np.float64).reshape(-1, 3)
        colors[2] = paler + 0.5 * np.array(to_rgb(theme.page))
    return colors


def _arc_color(attention: ArrowWeights, sender: int, receiver: int, theme: Theme) -> str:
    if 2 not in (attention.sender_rank, attention.receiver_rank):
        return theme.accent
    own = token_color(sender if attention.sender_rank == 2 else receiver)
    return to_hex(seen_on(np.array(to_rgb(own)), theme.page).tolist())


def _name_axis(ax: Axes, which: str, names: Sequence[str], rank: int, theme: Theme) -> None:
    axis = ax.xaxis if which == "x" else ax.yaxis
    ax.tick_params(axis="x" if which == "x" else "y", colors=theme.ink, length=0)
    if len(names) > MOST_NAMES:
        return
    axis.set_ticks(range(len(names)), list(names), rotation=90 if which == "x" else 0, fontsize=7,
                   parse_math=False)  # fmt: skip
    if rank == 2:
        for number, label in enumerate(axis.get_ticklabels()):
            label.set_bbox({"facecolor": token_color(number), "edgecolor": "none", "pad": 1.5})
            label.set_color("#000000")
