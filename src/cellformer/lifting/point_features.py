"""Features of a point cloud's cells from its geometry, the same however it is moved or turned."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float64, Int64

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_ends

POINT_FEATURES = ("distance from the center", "mean distance to the neighbors", "neighbors",
                  "elongation", "flatness")  # fmt: skip
EDGE_FEATURES = ("length", "triangles")
TRIANGLE_FEATURES = ("area", "roundness")


def with_point_features(cells: CellComplex, unit: float | None = None) -> CellComplex:
    """The complex with continuous features on vertices, edges and triangles, beside discrete ones.

    Vertices: the distance from the center, in units of its root mean square; the mean distance to
    the neighbors, an inverse density; their number; and how far they lie along a line, (a - b) / a,
    and in a plane, (b - c) / a, where a, b and c are the largest eigenvalues of the covariance of a
    point's neighborhood (Demantke et al., "Dimensionality based scale selection in 3D lidar point
    clouds", 2011). Edges: length, and number of triangles. Triangles: area, and area per squared
    perimeter, 1 if equilateral. Higher ranks have no features.

    Lengths are in units of the mean edge, so points in any units will do, or of ``unit``, so that
    size counts. Raises ValueError unless the complex has positions and its 2-cells are triangles.
    """
    if cells.dim < 2 or cells.positions is None:
        raise ValueError(f"complex {cells.name!r} is no point cloud with triangles")
    points = cells.positions - cells.positions.mean(axis=0)
    ends = edge_ends(cells)
    length = _length(points[ends[:, 0]] - points[ends[:, 1]])
    if unit is None:
        unit = max(float(length.mean()) if len(length) else 1.0, 1e-12)
    length = length / unit
    radius = _length(points)
    rms = max(float(np.sqrt((radius**2).mean())) if len(radius) else 1.0, 1e-12)
    count = cells.num_vertices
    degree = np.bincount(ends.ravel(), minlength=count)
    distance = np.bincount(ends.ravel(), np.repeat(length, 2), count) / np.maximum(degree, 1)
    vertex = (radius / rms, distance, degree, *_shape(points, ends))
    edge = (length, np.diff(cells.boundary(2).tocsr().indptr))
    sides = cells.boundary(2).tocsc()
    if len(sides.indices) != 3 * cells.num_cells[2]:
        raise ValueError(f"complex {cells.name!r} has 2-cells that are no triangles")
    a, b, c = np.sort(length[sides.indices.reshape(-1, 3)], axis=1).T
    # Heron's formula as Kahan arranged it, exact for flat triangles too
    area = np.sqrt(np.maximum((c + (b + a)) * (a - (c - b)) * (a + (c - b)) * (c + (b - a)), 0)) / 4
    around = np.maximum(a + b + c, 1e-12)
    triangle = (area, 12 * np.sqrt(3) * area / around**2)
    made = [
        replace(own, continuous=np.stack(columns, axis=1).astype(np.float32))
        for own, columns in zip(cells.features[:3], (vertex, edge, triangle), strict=True)
    ]
    return replace(cells, features=(*made, *cells.features[3:]))


def _shape(
    points: Float64[np.ndarray, "point space"], ends: Int64[np.ndarray, "edge 2"]
) -> tuple[Float64[np.ndarray, " point"], Float64[np.ndarray, " point"]]:
    """Elongation and flatness of each point with its neighbors; 0 where they all coincide."""
    count, space = points.shape
    here, there = np.concatenate([ends, ends[:, ::-1]]).T
    away = points[there] - points[here]
    number = np.bincount(here, minlength=count)[:, None] + 1  # and the point itself
    mean = np.zeros((count, space))
    np.add.at(mean, here, away)
    mean /= number
    square = np.zeros((count, space, space))
    np.add.at(square, here, away[:, :, None] * away[:, None, :])
    square = square / number[:, :, None] - mean[:, :, None] * mean[:, None, :]
    largest = np.linalg.eigvalsh(square)[:, ::-1][:, :3]
    largest = np.pad(np.maximum(largest, 0), ((0, 0), (0, 3 - largest.shape[1])))
    first = largest[:, 0]
    share = np.divide(largest, first[:, None], out=np.zeros_like(largest),
                      where=first[:, None] > 1e-24)  # fmt: skip
    return share[:, 0] - share[:, 1], share[:, 1] - share[:, 2]


def _length(vectors: Float64[np.ndarray, "row space"]) -> Float64[np.ndarray, " row"]:
    lengths: Float64[np.ndarray, " row"] = np.sqrt((vectors**2).sum(axis=1))
    return lengths
