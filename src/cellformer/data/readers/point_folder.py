"""A folder of point clouds with labels, of whole clouds or of their points.

The labels are those of `read_mesh_folder`: a table ``labels.csv`` with the columns ``file`` and the
targets, and perhaps ``split``; or a folder for each class; or beside each cloud ``x.xyz`` a table
``x.vertices.csv`` with one line per point, in the order of the file.

The cells come from `PointNeighbors`, made anew for each cloud when it is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cellformer.complexes.graph import Graph
from cellformer.data.dataset import GraphSet, Kind, Metric, Task, digest_of
from cellformer.data.identity import identity
from cellformer.data.quantities import Censored
from cellformer.data.readers.labels import counted, files_with, read_labels
from cellformer.data.readers.point_files import (
    FACELESS_SUFFIXES,
    POINT_SUFFIXES,
    has_faces,
    read_points,
)
from cellformer.lifting.point_cloud import PointNeighbors
from cellformer.lifting.point_features import with_point_features

VERSION = "1"
"""Raised whenever the same points get other cells or features."""


@dataclass(frozen=True, eq=False)
class PointClouds:
    """Clouds in memory; row i is the skeleton of the complex of cloud i, which it remembers."""

    clouds: tuple[Graph, ...]
    neighbors: PointNeighbors

    def __len__(self) -> int:
        return len(self.clouds)

    def graph(self, row: int) -> Graph:
        """The points, joined to their neighbors; raises ValueError for a cloud over the limit."""
        cells = self.neighbors(self.clouds[row])
        return Graph.of_complex(with_point_features(cells, self.neighbors.radius))

    def part(self, start: int, stop: int) -> "PointClouds":
        """The rows ``start:stop``."""
        return PointClouds(self.clouds[start:stop], self.neighbors)

    def digest(self) -> str:
        """Of the points, their features, and how they are joined."""
        parts: list[str | np.ndarray] = [VERSION, identity(self.neighbors) or ""]
        for cloud in self.clouds:
            positions = cloud.positions
            assert positions is not None
            parts += [positions, cloud.vertex_features.discrete]
        return digest_of(parts)


def is_point_folder(folder: Path) -> bool:
    """Whether a folder holds point clouds: files of points, or meshes the first of which has no
    faces, at most two folders deep."""
    found = files_with(folder, (*POINT_SUFFIXES, *FACELESS_SUFFIXES))
    return bool(found) and not has_faces(found[0])


def read_point_folder(
    folder: Path,
    target: Sequence[str] | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    task: Task | None = None,
    neighbors: PointNeighbors | None = None,
    censored: Censored = "refuse",
) -> GraphSet:
    """The point clouds of a folder, by name, with features from their geometry.

    What are classes and what values is decided as by `read_mesh_folder`. A cloud with more cells
    than allowed stays in place: asking for its graph raises ValueError with the reason. Raises
    ValueError, naming file and line, where a file cannot be read or labels do not fit.
    """
    files = files_with(folder, (*POINT_SUFFIXES, *FACELESS_SUFFIXES))
    if not files:
        raise ValueError(f"{folder} holds no point cloud ({', '.join(POINT_SUFFIXES)})")
    clouds = tuple(read_points(file) for file in files)
    _check_alike(clouds, folder)
    graphs = PointClouds(clouds, neighbors or PointNeighbors())
    sizes = [cloud.num_vertices for cloud in clouds]
    labels = read_labels(folder, files, target, {"vertices": counted("vertices", sizes)})
    posed, values = labels.encoded(task, kind, metric, str(folder), censored)
    if posed is None or values is None:
        values = np.zeros((len(files), 0), np.float32)
    offsets = None
    if posed is not None and posed.rank is not None:
        offsets = np.concatenate([[0], np.cumsum(sizes)])
    return GraphSet(folder.name, graphs, values, posed, labels.split, graphs.digest(), offsets)


def _check_alike(clouds: Sequence[Graph], folder: Path) -> None:
    """Raises ValueError unless all have elements or none, and live in the same space."""
    first = clouds[0]
    for cloud in clouds:
        if cloud.vertex_features.discrete.shape[1] != first.vertex_features.discrete.shape[1]:
            raise ValueError(
                f"{folder}: of {first.name} and {cloud.name} only one names the elements of its "
                "points; all must, or none"
            )
        assert cloud.positions is not None
        assert first.positions is not None
        if cloud.positions.shape[1] != first.positions.shape[1]:
            raise ValueError(
                f"{folder}: the points of {first.name} have {first.positions.shape[1]} "
                f"coordinates, those of {cloud.name} {cloud.positions.shape[1]}"
            )
