"""A small drawing of a complex as SVG, a few hundred bytes a cell: for pages with many."""

import html
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import boundary_walks, edge_ends
from cellformer.drawing.bonds import bond_strokes
from cellformer.drawing.layout import layout
from cellformer.drawing.projection import project
from cellformer.drawing.theme import token_color

SIDE, GAP = 200.0, 5.0


def sketch(
    cells: CellComplex,
    positions: ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    description: str = "",
    orders: Sequence[float] | None = None,
) -> str:
    """An <svg> element with filled 2-cells, edges, and vertices as labels or dots.

    ``orders`` are those of a molecule's bonds, as in `draw_complex`. Lines have the color of the
    page's writing. ``labels`` (of the vertices) and ``description`` are escaped.
    """
    points = _in_square(cells, positions)
    parts = []
    for number, walks in enumerate(boundary_walks(cells)):
        path = "".join(
            "M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in points[list(walk)]) + "Z"
            for walk in walks
        )
        parts.append(f'<path d="{path}" fill="{token_color(number)}" fill-opacity=".35"/>')
    known = None if orders is None else np.array(orders, np.float64)
    strokes = bond_strokes(points, edge_ends(cells), known, GAP)
    for broken in (False, True):
        lines = "".join(
            f"M{a[0]:.0f} {a[1]:.0f}L{b[0]:.0f} {b[1]:.0f}"
            for a, b in strokes.lines[strokes.broken == broken].tolist()
        )
        if lines:
            style = 'stroke-width="1.5" stroke-dasharray="3 2"' if broken else 'stroke-width="2.5"'
            parts.append(f'<path d="{lines}" stroke="currentColor" {style} fill="none"/>')
    radius = 3.5 if len(points) <= 50 else 1.8
    for vertex, (x, y) in enumerate(points.tolist()):
        label = labels[vertex] if labels is not None else ""
        if label:
            parts.append(
                f'<text x="{x:.0f}" y="{y + 5.5:.0f}" class="atom">{html.escape(label)}</text>'
            )
        else:
            parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius}" fill="currentColor"/>')
    told = html.escape(description, quote=True)
    return (
        f'<svg class="sketch" viewBox="0 0 {SIDE:.0f} {SIDE:.0f}" role="img" '
        f'aria-label="{told}">{"".join(parts)}</svg>'
    )


def _in_square(cells: CellComplex, given: ArrayLike | None) -> Float64[np.ndarray, "vertex 2"]:
    points = cells.positions if given is None else np.asarray(given, np.float64)
    if points is None or points.shape[1] not in (2, 3):
        points = layout(cells)
    if points.shape[1] == 3:
        points = project(points, 25.0, -60.0)[:, :2]
    if not len(points):
        return points
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max())
    # A lone bond or atom is not blown up to the whole square.
    scale = min((SIDE - 30) / extent if extent > 0 else 1.0, 40.0)
    centered = (points - (low + high) / 2) * (scale, -scale)
    placed: Float64[np.ndarray, "vertex 2"] = centered + SIDE / 2
    return placed
