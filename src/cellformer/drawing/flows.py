"""A picture of a flow along edges and the three parts of its Hodge decomposition."""

import numpy as np
from jaxtyping import Bool, Float64
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.path import Path
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.hodge import hodge_decomposition
from cellformer.complexes.polygons import boundary_walks, edge_ends
from cellformer.data.dataset import GraphSet
from cellformer.drawing.canvas import aspect_of, figure_of, headline, new_row
from cellformer.drawing.colors import diverging_map
from cellformer.drawing.contrast import seen_on
from cellformer.drawing.paint import typical_length
from cellformer.drawing.theme import LIGHT, Theme
from cellformer.drawing.tokens import flat_positions

Points = Float64[np.ndarray, "vertex 2"]

LEAST_SEEN = 0.02
"""Of the strongest flow of all panels: what is weaker has no arrow."""


def draw_flow(
    cells: CellComplex,
    flow: ArrayLike,
    positions: ArrayLike | None = None,
    title: str = "",
    size: float = 4.0,
    theme: Theme = LIGHT,
) -> Figure:
    """A flow along the edges, its gradient, its curl and its harmonic part, two by two.

    An arrow points where the flow of an edge goes, and its area is the flow's strength, alike in
    all panels; the titles tell the shares of the flow's square. The gradient is drawn over the
    potentials of the vertices, from violet up to orange; the curl over the fluxes of the faces,
    orange where it turns counterclockwise; the harmonic part, which turns around holes, alone.

    ``flow`` has a value for each edge, along its orientation (see `hodge_decomposition`, which
    raises ValueError where it does not fit). Faces without area are not drawn.
    """
    values = np.asarray(flow, np.float64)
    parts = hodge_decomposition(cells, values)
    points = flat_positions(cells, positions)
    whole = float(values @ values) or 1.0
    panels = {
        "flow": values,
        f"gradient: {float(parts.gradient @ parts.gradient) / whole:.0%}": parts.gradient,
        f"curl: {float(parts.curl @ parts.curl) / whole:.0%}": parts.curl,
        f"harmonic: {float(parts.harmonic @ parts.harmonic) / whole:.0%}": parts.harmonic,
    }
    strongest = max(float(np.abs(part).max(initial=0.0)) for part in panels.values()) or 1.0
    axes = new_row(len(panels), size, size * aspect_of(points) + 0.4, theme, columns=2)
    for ax, (told, part) in zip(axes, panels.items(), strict=True):
        potentials = parts.potentials if part is parts.gradient else None
        fluxes = parts.fluxes if part is parts.curl else None
        _panel(ax, cells, points, part / strongest, potentials, fluxes, theme)
        headline(ax, told, theme)
    figure = figure_of(axes[0])
    if title:
        figure.suptitle(title, color=theme.ink, parse_math=False)
    return figure


def flow_of(source: GraphSet, row: int, cells: CellComplex) -> Float64[np.ndarray, " edge"]:
    """The values of the edges of a row that flip: the first target where it is known, else the
    first signed feature, else 0.

    Raises ValueError where the edges have neither.
    """
    task = source.task_or_none
    target = task is not None and task.flips and task.rank == 1
    if cells.dim < 1 or not (target or cells.features[1].signed.shape[1]):
        raise ValueError(
            f"{source.name}: edges have no flow, neither targets that flip with the orientation "
            "nor signed features"
        )
    found = np.zeros(cells.num_cells[1])
    if cells.features[1].signed.shape[1]:
        found += cells.features[1].signed[:, 0]
    if target:
        known = source.targets_of(np.array([row]))[:, 0].astype(np.float64)
        found = np.where(np.isfinite(known), known, found)
    return found


def _panel(
    ax: Axes,
    cells: CellComplex,
    points: Points,
    shares: Float64[np.ndarray, " edge"],
    potentials: Float64[np.ndarray, " vertex"] | None,
    fluxes: Float64[np.ndarray, " face"] | None,
    theme: Theme,
) -> None:
    ends = edge_ends(cells)
    unit = typical_length(points, ends)
    _add_faces(ax, cells, points, fluxes, theme)
    width = float(np.clip(10 / max(len(ends), 1) ** 0.5, 0.3, 1.2))
    lines = LineCollection(list(points[ends]), colors=theme.faint, linewidths=width)
    lines.set_zorder(2)
    ax.add_collection(lines, autolim=False)
    if potentials is not None:
        middle = potentials - potentials.mean()
        disks = [Path.circle((x, y), 0.2 * unit) for x, y in points.tolist()]
        colors = _diverging(middle, theme)
        painted = PathCollection(disks, facecolors=_translucent(colors, 0.95),
                                 edgecolors=theme.faint, linewidths=width, zorder=3)  # fmt: skip
        ax.add_collection(painted, autolim=False)
    seen: Bool[np.ndarray, " edge"] = np.abs(shares) > LEAST_SEEN
    turned = np.where(shares[:, None] < 0, ends[:, ::-1], ends)
    arrows = _arrows(points[turned[seen]], np.abs(shares[seen]), unit)
    color = seen_on(np.array(to_rgb(theme.accent if fluxes is None else theme.ink)), theme.page)
    painted_arrows = PolyCollection(list(arrows), facecolors=[color], edgecolors="none", zorder=4)
    ax.add_collection(painted_arrows, autolim=False)
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2),) * 2
    ax.set_xlim(low[0] - unit / 2, high[0] + unit / 2)
    ax.set_ylim(low[1] - unit / 2, high[1] + unit / 2)
    ax.set_aspect("equal")
    ax.set_axis_off()


def _arrows(
    ends: Float64[np.ndarray, "edge 2 2"], shares: Float64[np.ndarray, " edge"], unit: float
) -> Float64[np.ndarray, "edge 7 2"]:
    """Arrows in the middle of edges, whose sides are as the roots of their strengths."""
    along = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(along, axis=1)[:, None]
    along = along / np.where(length > 0, length, 1.0)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    scale = np.sqrt(shares)[:, None]
    long = np.minimum(0.9 * length, 1.4 * unit) * scale
    wide = 0.7 * unit * scale
    middle = ends.mean(axis=1)
    corners = ((-0.5, 0.12), (0.0, 0.12), (0.0, 0.5), (0.5, 0.0),
               (0.0, -0.5), (0.0, -0.12), (-0.5, -0.12))  # fmt: skip
    shape = [middle + x * long * along + y * wide * across for x, y in corners]
    return np.stack(shape, axis=1)


def _add_faces(
    ax: Axes,
    cells: CellComplex,
    points: Points,
    fluxes: Float64[np.ndarray, " face"] | None,
    theme: Theme,
) -> None:
    """Shaded by what turns around them, whichever way they are oriented; or faintly all alike."""
    if cells.dim < 2 or not cells.num_cells[2]:
        return
    walks = boundary_walks(cells)
    areas = np.array([sum(_area(points[walk]) for walk in face) for face in walks])
    drawn = np.flatnonzero(areas)
    if fluxes is None:
        ink = 0.1 * np.array(to_rgb(theme.ink)) + 0.9 * np.array(to_rgb(theme.page))
        colors = np.tile(ink, (len(areas), 1))
    else:
        colors = _diverging(fluxes * np.sign(areas), theme)
    paths = [
        Path.make_compound_path(
            *(Path(np.concatenate([points[walk], points[walk[:1]]]), closed=True)
              for walk in walks[face])
        )
        for face in drawn
    ]  # fmt: skip
    painted = PathCollection(paths, facecolors=_translucent(colors[drawn], 0.85),
                             edgecolors="none")  # fmt: skip
    ax.add_collection(painted, autolim=False)


def _area(ring: Float64[np.ndarray, "corner 2"]) -> float:
    """Of a polygon; negative where it is walked around clockwise."""
    x, y = ring.T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _diverging(values: Float64[np.ndarray, " cell"], theme: Theme) -> Float64[np.ndarray, "cell 3"]:
    """Colors over a range that has zero in the middle."""
    widest = float(np.abs(values).max(initial=0.0)) or 1.0
    colors: Float64[np.ndarray, "cell 3"] = diverging_map(theme)(0.5 + 0.5 * values / widest)[:, :3]
    return colors


def _translucent(
    colors: Float64[np.ndarray, "cell 3"], opacity: float
) -> Float64[np.ndarray, "cell 4"]:
    return np.column_stack([colors, np.full(len(colors), opacity)])
