"""Random triangulations of a rectangle with round holes, as of a sea with islands."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int32
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import boundary_walks, edge_ends
from cellformer.lifting.mesh import mesh_complex

WIDTH, HEIGHT = 1.5, 1.0
RADII = 0.11, 0.16
APART = 0.22
"""Between the borders of two holes; half as much to the border of the rectangle."""
DARTS = 1500

Points = Float64[np.ndarray, "point 2"]


@dataclass(frozen=True, eq=False)
class Sea:
    """A triangulation, and where its holes are."""

    points: Points
    triangles: Int32[np.ndarray, "triangle 3"]
    holes: Float64[np.ndarray, "hole 3"]  # center and radius

    def complex(self, name: str = "") -> CellComplex:
        """Vertices at their places, edges from lower to higher numbers, and the triangles."""
        return mesh_complex(self.points, self.triangles, name=name)


def random_sea(rng: np.random.Generator, holes: int, spacing: float) -> Sea:
    """A sea with so many holes, whose points are at least ``spacing`` apart.

    It is connected, and its first Betti number is the number of holes.
    """
    while True:
        places = _places(rng, holes)
        points = _points(rng, places, spacing)
        triangles = Delaunay(points).simplices
        corners = points[triangles]
        sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
        inside = depth(corners.mean(axis=1), places) < 0
        triangles = triangles[~inside & (sides.max(axis=1) < 3 * spacing)]
        used = np.unique(triangles)
        number = np.full(len(points), -1)
        number[used] = np.arange(len(used))
        sea = Sea(points[used], number[triangles].astype(np.int32), places)
        if _is_sound(sea):
            return sea


def angles(
    points: Points, ends: np.ndarray, center: Float64[np.ndarray, " 2"]
) -> Float64[np.ndarray, " edge"]:
    """By how much an edge turns around a place, counterclockwise from its first to its second end.

    Around the triangles that do not hold the place, these sum to zero, and around a closed path to
    2 pi for each time that it goes around.
    """
    x, y = (points - center).T
    seen = np.arctan2(y, x)
    turned = seen[ends[:, 1]] - seen[ends[:, 0]]
    found: Float64[np.ndarray, " edge"] = np.mod(turned + np.pi, 2 * np.pi) - np.pi
    return found


def upward(cells: CellComplex, points: Points) -> Float64[np.ndarray, " face"]:
    """1 for each triangle that is oriented counterclockwise, else -1."""
    corners = points[np.array([walk for (walk,) in boundary_walks(cells)])]
    (ax, ay), (bx, by) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
    found: Float64[np.ndarray, " face"] = np.sign(ax * by - ay * bx)
    return found


def depth(points: Points, holes: Float64[np.ndarray, "hole 3"]) -> Float64[np.ndarray, " point"]:
    """The distance to the next border of a hole; negative inside."""
    away = np.linalg.norm(points[:, None] - holes[None, :, :2], axis=2) - holes[:, 2]
    nearest: Float64[np.ndarray, " point"] = away.min(axis=1, initial=np.inf)
    return nearest


def _places(rng: np.random.Generator, holes: int) -> Float64[np.ndarray, "hole 3"]:
    while True:
        radii = rng.uniform(*RADII, holes)
        free = np.array([WIDTH, HEIGHT]) - (2 * radii[:, None] + APART)
        centers = radii[:, None] + APART / 2 + rng.random((holes, 2)) * free
        between = np.linalg.norm(centers[:, None] - centers[None], axis=2)
        between -= radii[:, None] + radii[None]
        if (between[~np.eye(holes, dtype=bool)] > APART).all():
            return np.column_stack([centers, radii])


def _points(
    rng: np.random.Generator, holes: Float64[np.ndarray, "hole 3"], spacing: float
) -> Points:
    """Darts that keep their distance from each other, after some around each hole."""
    rings = [np.zeros((0, 2))]
    for x, y, radius in holes.tolist():
        count = max(6, round(2 * np.pi * radius / (1.15 * spacing)))
        turn = 2 * np.pi * (np.arange(count) + rng.random()) / count
        rings.append(np.column_stack([x + radius * np.cos(turn), y + radius * np.sin(turn)]))
    kept = np.concatenate(rings)
    darts = rng.random((DARTS, 2)) * (WIDTH, HEIGHT)
    darts = darts[depth(darts, holes) > 0]
    for place in kept:
        darts = darts[((darts - place) ** 2).sum(axis=1) > spacing**2]
    found = [kept]
    while len(darts):
        found.append(darts[:1])
        darts = darts[((darts - darts[0]) ** 2).sum(axis=1) > spacing**2]
    points = np.concatenate(found)
    return points[rng.permutation(len(points))]


def _is_sound(sea: Sea) -> bool:
    """Whether it is in one piece and Euler's formula gives the number of holes."""
    cells = sea.complex()
    ends = edge_ends(cells)
    graph = coo_array((np.ones(len(ends)), ends.T), shape=(cells.num_vertices,) * 2)
    pieces, _ = connected_components(graph, directed=False)
    vertices, edges, triangles = cells.num_cells
    return pieces == 1 and vertices - edges + triangles == 1 - len(sea.holes)
