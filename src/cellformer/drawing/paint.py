"""From the cells of a complex to what matplotlib draws, in the plane and in space."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int64
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection
from matplotlib.path import Path

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import boundary_walks, edge_ends
from cellformer.drawing.bonds import Strokes, bond_strokes
from cellformer.drawing.contrast import seen_on
from cellformer.drawing.theme import Theme

GAP = 0.13
"""Between the lines of a double bond, in the length of an edge."""
Walks = Sequence[Sequence[int]]

LIGHT = np.array([-0.35, 0.55, 0.75])  # to the right, upwards, towards the viewer


@dataclass(frozen=True)
class Pen:
    """Sizes that suit how long a typical edge is on the paper."""

    unit: float  # length of a typical edge, in the drawing's coordinates
    radius: float  # of a vertex, in the drawing's coordinates
    line: float  # width of an edge, in points
    theme: Theme

    @classmethod
    def of(cls, unit: float, ax: Axes, thickness: float, theme: Theme) -> "Pen":
        """Sizes for axes whose limits are set, around ``thickness`` times the usual ones."""
        figure = ax.get_figure(root=True)
        assert figure is not None
        box = ax.get_position()
        inches = figure.get_size_inches() * (box.width, box.height)
        ranges = np.abs([np.diff(ax.get_xlim())[0], np.diff(ax.get_ylim())[0]])
        points_per_length = float((72 * inches / ranges).min())
        diameter = float(np.clip(0.34 * thickness * unit * points_per_length, 1.0, 18))
        line = float(np.clip(0.28 * diameter, 0.4, 4))
        return cls(unit, diameter / 2 / points_per_length, line, theme)


def paint_flat(
    cells: CellComplex,
    points: Float64[np.ndarray, "vertex 2"],
    colors: Sequence[Float[np.ndarray, "_ 3"]],
    pen: Pen,
    orders: Float64[np.ndarray, " edge"] | None = None,
) -> list[Collection]:
    """2-cells, translucent and the larger behind; over them edges, over them vertices.

    ``orders`` are those of bonds, 1.5 for aromatic ones.
    """
    made: list[Collection] = []
    if cells.dim >= 2:
        walks = boundary_walks(cells)
        areas = np.array([_area(walk, points) for walk in walks])
        order = [face for face in np.argsort(-areas, kind="stable") if walks[face]]
        if order:
            opacity = _opacity(float(areas.sum()), points)
            paths = [_face(walks[face], points, 0.12 * pen.unit) for face in order]
            borders = seen_on(colors[2], pen.theme.page)
            made.append(
                PathCollection(
                    paths,
                    facecolors=[(*colors[2][face], opacity) for face in order],
                    edgecolors=borders[order],
                    linewidths=0.35 * pen.line,
                    joinstyle="round",
                )
            )
    if cells.dim >= 1:
        made += _lines(bond_strokes(points, edge_ends(cells), orders, GAP * pen.unit), colors, pen)
    made.append(_disks(points, colors[0], pen))
    return made


def _lines(
    strokes: Strokes, colors: Sequence[Float[np.ndarray, "_ 3"]], pen: Pen
) -> list[Collection]:
    """Edges in a casing of the page's writing; broken lines are of that alone."""
    whole = ~strokes.broken
    lines, widths = strokes.lines[whole], strokes.width[whole] * pen.line
    ink = pen.theme.ink
    made: list[Collection] = [
        LineCollection(list(lines), colors=ink, linewidths=widths + 0.35 * pen.line),
        LineCollection(list(lines), colors=colors[1][strokes.edge[whole]], linewidths=widths),
    ]
    if strokes.broken.any():
        width = strokes.width[strokes.broken] * pen.line
        broken = LineCollection(list(strokes.lines[strokes.broken]), colors=ink, linewidths=width)
        broken.set_linestyle((0, (2.2, 1.4)))
        made.append(broken)
    return made


def paint_solid(
    cells: CellComplex,
    points: Float64[np.ndarray, "vertex 3"],
    colors: Sequence[Float[np.ndarray, "_ 3"]],
    pen: Pen,
) -> list[Collection]:
    """Everything opaque, from the farthest to the nearest to the viewer (the third coordinate).

    An edge comes right after the nearest of its 2-cells, a vertex right after its nearest edge, so
    that the far side of a surface does not show through.
    """
    ends = edge_ends(cells)
    walks = boundary_walks(cells)
    depths = _depths(cells, points[:, 2], walks)
    order = np.lexsort((np.repeat([0, 1, 2], [len(d) for d in depths]), np.concatenate(depths)))
    facing = np.array([_facing_light(walk, points) for walk in walks]).reshape(-1, 1)
    flat = points[:, :2]
    # Rank by rank from the 2-cells down, then put in order of depth.
    paths = [
        *(_face(walk, flat, 0.0) for walk in walks),
        *(Path(flat[pair]) for pair in ends),
        *(Path.circle((x, y), pen.radius) for x, y in flat.tolist()),
    ]
    faces = _lit(colors[2], facing) if cells.dim >= 2 else np.zeros((0, 3))
    lines = colors[1] if cells.dim >= 1 else np.zeros((0, 3))
    fill = _opaque(faces, 1.0), _opaque(lines, 0.0), _opaque(colors[0], 1.0)
    stroke = _opaque(faces, 1.0), _opaque(lines, 1.0), _opaque(0.45 * colors[0], 1.0)
    widths = np.repeat(
        [0.3, pen.line, 0.2 * pen.line], [len(faces), len(lines), cells.num_vertices]
    )
    return [
        PathCollection(
            [paths[i] for i in order],
            facecolors=np.concatenate(fill)[order],
            edgecolors=np.concatenate(stroke)[order],
            linewidths=widths[order],
            joinstyle="round",
            capstyle="round",
        )
    ]


def typical_length(
    points: Float64[np.ndarray, "vertex space"], ends: Int64[np.ndarray, "edge 2"]
) -> float:
    """The median length of the edges; without edges, a distance that vertices keep on average."""
    if len(ends):
        lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
        if (middle := float(np.median(lengths))) > 0:
            return middle
    extent = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    return extent / max(1.0, np.sqrt(len(points))) or 1.0


def _depths(
    cells: CellComplex, depth: Float64[np.ndarray, " vertex"], walks: Sequence[Walks]
) -> tuple[Float64[np.ndarray, " _"], Float64[np.ndarray, " _"], Float64[np.ndarray, " _"]]:
    """When faces, edges and vertices are painted: by increasing depth, at equal depth by rank."""
    ends, boundary = edge_ends(cells), cells.boundary(2)
    faces = np.array([depth[_corners(walk)].mean() if walk else -np.inf for walk in walks])
    edges = depth[ends].mean(axis=1)
    edges[boundary.indices] = -np.inf
    np.maximum.at(edges, boundary.indices, np.repeat(faces, np.diff(boundary.indptr)))
    vertices = depth.copy()
    vertices[ends.ravel()] = -np.inf
    np.maximum.at(vertices, ends.ravel(), np.repeat(edges, 2))
    return faces, edges, vertices


def _lit(
    colors: Float[np.ndarray, "face 3"], facing: Float64[np.ndarray, "face 1"]
) -> Float64[np.ndarray, "face 3"]:
    # A white sheen shows the shape of a black surface too.
    return np.clip(colors * (0.6 + 0.4 * facing) + 0.22 * facing**3, 0, 1).astype(np.float64)


def _facing_light(walks: Walks, points: Float64[np.ndarray, "vertex 3"]) -> float:
    """The cosine between the light and a 2-cell's normal (Newell's method), on either side."""
    if not walks:
        return 1.0
    corners = points[list(walks[0])]
    normal = np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0)
    length = float(np.linalg.norm(normal)) * float(np.linalg.norm(LIGHT))
    return abs(float(normal @ LIGHT)) / length if length > 0 else 1.0


def _face(walks: Walks, points: Float64[np.ndarray, "vertex 2"], gap: float) -> Path:
    """The area inside closed walks, drawn together towards its center by about ``gap``."""
    if not walks:
        return Path(np.zeros((0, 2)))
    every = points[_corners(walks)]
    center = every.mean(axis=0)
    radius = float(np.linalg.norm(every - center, axis=1).mean())
    scale = max(0.6, 1 - gap / radius) if radius > 0 else 1.0
    rings = []
    for walk in walks:
        ring = center + scale * (points[list(walk)] - center)
        rings.append(Path(np.concatenate([ring, ring[:1]]), closed=True))
    return rings[0] if len(rings) == 1 else Path.make_compound_path(*rings)


def _area(walks: Walks, points: Float64[np.ndarray, "vertex 2"]) -> float:
    total = 0.0
    for walk in walks:
        x, y = points[list(walk)].T
        total += 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    return abs(total)


def _opacity(area: float, points: Float64[np.ndarray, "vertex 2"]) -> float:
    """So that where many 2-cells lie over each other the lower ones still show."""
    sheet = float(np.ptp(points, axis=0).prod())
    layers = 1.5 * area / sheet if sheet > 0 else 1.0
    return float(np.clip(0.6 / max(1.0, layers), 0.06, 0.6))


def _disks(
    points: Float64[np.ndarray, "vertex 2"], colors: Float[np.ndarray, "vertex 3"], pen: Pen
) -> Collection:
    return PathCollection(
        [Path.circle((x, y), pen.radius) for x, y in points.tolist()],
        facecolors=colors,
        edgecolors=pen.theme.ink,
        linewidths=0.3 * pen.line,
    )


def _corners(walks: Walks) -> list[int]:
    return [vertex for walk in walks for vertex in walk]


def _opaque(colors: Float[np.ndarray, "cell 3"], alpha: float) -> Float64[np.ndarray, "cell 4"]:
    return np.column_stack([colors, np.full(len(colors), alpha)]).astype(np.float64)
