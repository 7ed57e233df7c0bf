"""Features of a mesh's cells from its geometry, the same however it is moved, turned or scaled."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float64, Int64

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.features import Features
from cellformer.complexes.polygons import boundary_walks, edge_ends

VERTEX_FEATURES = ("angle defect", "distance from the center", "neighbors", "area around")
EDGE_FEATURES = ("length", "dihedral angle", "faces")
FACE_FEATURES = ("area", "elongation", "distance from the center", "sides")


def with_mesh_features(cells: CellComplex) -> CellComplex:
    """The complex with continuous features on its vertices, edges and faces, beside signed ones.

    Vertices: 2 pi minus the sum of the faces' angles there (the discrete Gaussian curvature), the
    distance from the center, the number of neighbors, and a third of the area of the triangles
    around. Edges: length, the angle between the normals of its faces (0 if flat or at a border, pi
    if folded), and the number of its faces. Faces: area, squared perimeter per area, distance
    from the center, and number of sides. Lengths are in units of the mean edge, distances of the
    root mean square distance, areas of the mean face, so positions in any units will do. Faces are
    treated as fans of triangles around their mean point; a face without area has elongation 0.

    Raises ValueError unless the complex has positions in space and dimension 2.
    """
    if cells.dim != 2 or cells.positions is None or cells.positions.shape[1] != 3:
        raise ValueError(
            f"complex {cells.name!r} is no mesh: features need faces and positions in space"
        )
    points = cells.positions - cells.positions.mean(axis=0)
    radius = _distance(points)
    points = points / max(float(np.sqrt((radius**2).mean())), 1e-12)
    walks = [walk[0] if walk else [] for walk in boundary_walks(cells)]
    corner, face, following, before = _corners(walks)
    centers = (
        np.stack([np.bincount(face, points[corner, axis], len(walks)) for axis in range(3)], axis=1)
        / np.maximum(np.bincount(face, minlength=len(walks)), 1)[:, None]
    )
    spokes = points[corner] - centers[face]
    crosses = np.cross(spokes, points[following] - centers[face])
    normals = _sums(crosses, face, len(walks))
    area = np.bincount(face, _distance(crosses), len(walks)) / 2
    sides = _distance(points[following] - points[corner])
    perimeter = np.bincount(face, sides, len(walks))
    angle = _angle(points[following] - points[corner], points[before] - points[corner])
    ends = edge_ends(cells)
    length = _distance(points[ends[:, 0]] - points[ends[:, 1]])
    count = cells.num_vertices
    vertex = (
        2 * np.pi - np.bincount(corner, angle, count),
        _distance(points),
        np.bincount(ends.ravel(), minlength=count),
        np.bincount(corner, (area / _positive(area.mean() if len(area) else 1.0))[face], count) / 3,
    )
    edge = (
        length / _positive(length.mean() if len(length) else 1.0),
        _dihedral(cells, normals),
        np.diff(cells.boundary(2).tocsr().indptr),
    )
    faces = (
        area / _positive(area.mean() if len(area) else 1.0),
        np.where(area > 1e-12, perimeter**2 / np.maximum(area, 1e-12) / 20, 0),
        _distance(centers),
        np.bincount(face, minlength=len(walks)),
    )
    made = [
        replace(_columns(columns), signed=own.signed)
        for own, columns in zip(cells.features, (vertex, edge, faces), strict=True)
    ]
    return replace(cells, features=tuple(made))


def _corners(
    walks: list[list[int]],
) -> tuple[
    Int64[np.ndarray, " corner"],
    Int64[np.ndarray, " corner"],
    Int64[np.ndarray, " corner"],
    Int64[np.ndarray, " corner"],
]:
    """Of every corner: its vertex, its face, the next vertex around and the one before."""
    rolled = [(walk, walk[1:] + walk[:1], walk[-1:] + walk[:-1]) for walk in walks]
    here, after, before = (
        np.array([vertex for walk in rolled for vertex in walk[which]], np.int64)
        for which in range(3)
    )
    return here, np.repeat(np.arange(len(walks)), [len(walk) for walk in walks]), after, before


def _sums(
    vectors: Float64[np.ndarray, "row 3"], group: Int64[np.ndarray, " row"], groups: int
) -> Float64[np.ndarray, "group 3"]:
    """The sum of the vectors of each group."""
    total = np.zeros((groups, 3))
    np.add.at(total, group, vectors)
    return total


def _distance(vectors: Float64[np.ndarray, "row 3"]) -> Float64[np.ndarray, " row"]:
    lengths: Float64[np.ndarray, " row"] = np.sqrt((vectors**2).sum(axis=1))
    return lengths


def _angle(
    one: Float64[np.ndarray, "row 3"], other: Float64[np.ndarray, "row 3"]
) -> Float64[np.ndarray, " row"]:
    """Between two vectors; accurate for small angles too, 0 where one has no length."""
    angles: Float64[np.ndarray, " row"] = np.arctan2(
        _distance(np.cross(one, other)), (one * other).sum(axis=1)
    )
    return angles


def _dihedral(
    cells: CellComplex, normals: Float64[np.ndarray, "face 3"]
) -> Float64[np.ndarray, " edge"]:
    """The largest angle between the normals of an edge's faces, oriented alike across it."""
    rows = cells.boundary(2).tocsr()
    counts = np.diff(rows.indptr)
    bent = np.zeros(len(counts))
    two = np.flatnonzero(counts == 2)
    first, second = rows.indptr[two], rows.indptr[two] + 1
    # Faces that are oriented alike run along a common edge in opposite directions.
    flip = -(rows.data[first].astype(float) * rows.data[second])
    bent[two] = _angle(normals[rows.indices[first]], normals[rows.indices[second]] * flip[:, None])
    for edge in np.flatnonzero(counts > 2):
        own = slice(int(rows.indptr[edge]), int(rows.indptr[edge + 1]))
        signed = normals[rows.indices[own]] * rows.data[own][:, None]
        a, b = np.triu_indices(len(signed), 1)
        bent[edge] = _angle(signed[a], -signed[b]).max()
    return bent


def _positive(value: float) -> float:
    return max(float(value), 1e-12)


def _columns(columns: tuple[np.ndarray, ...]) -> Features:
    table = np.stack([np.asarray(column, np.float32) for column in columns], axis=1)
    return Features(np.zeros((len(table), 0), np.int64), table)
