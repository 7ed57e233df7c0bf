"""The complex of a mesh: its own vertices, edges and faces."""

import itertools
import warnings
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Int64
from numpy.typing import ArrayLike

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.lifting.skeleton import attach_cycles

Degenerate: TypeAlias = Literal["fail", "drop"]
"""What happens to a face that is none."""


def mesh_complex(
    vertices: ArrayLike,
    polygons: Sequence[Sequence[int]] | np.ndarray,
    offsets: ArrayLike | None = None,
    degenerate: Degenerate = "fail",
    name: str = "",
) -> CellComplex:
    """The 2-dimensional complex of a triangle or polygon mesh.

    ``vertices`` has shape (vertex, space) and becomes the positions; vertices are neither merged
    nor reordered, and may belong to no face. ``polygons`` holds the vertex numbers along each
    face, which is closed from the last to the first: a list per face, an array (face, corner), or,
    with ``offsets`` of shape (face + 1,), one flat array in which face i is
    ``polygons[offsets[i]:offsets[i + 1]]``. The faces keep their order; the edges come in the
    lexicographic order of their vertices. An edge may belong to any number of faces. A face is
    oriented like those of the liftings, not by its normal.

    A face with fewer than three vertices, or with one twice, is degenerate: "fail" raises
    ValueError, "drop" leaves such faces out and warns with their number. Raises ValueError,
    naming the face, if a vertex number is out of range.
    """
    where = f"mesh {name!r}" if name else "mesh"
    points = np.asarray(vertices, np.float64)
    if points.ndim != 2:
        raise ValueError(f"{where}: vertices must have shape (vertex, space), got {points.shape}")
    flat, ends = _flat(polygons, offsets, where)
    face = np.repeat(np.arange(len(ends) - 1), np.diff(ends))

    outside = (flat < 0) | (flat >= len(points))
    if outside.any():
        at = int(outside.argmax())
        raise ValueError(
            f"{where}: face {face[at]} names vertex {flat[at]}, outside 0..{len(points) - 1}"
        )
    bad = np.diff(ends) < 3
    order = np.lexsort((flat, face))
    repeated = (np.diff(flat[order]) == 0) & (np.diff(face[order]) == 0)
    bad[face[order][1:][repeated]] = True
    if bad.any():
        first = int(bad.argmax())
        corners = tuple(flat[ends[first] : ends[first + 1]].tolist())
        what = f"{where}: face {first} {corners} has fewer than three vertices or one twice"
        if degenerate == "fail":
            raise ValueError(
                f"{what}; remove it, or leave such faces out with data.degenerate=drop (in Python "
                "degenerate='drop')"
            )
        warnings.warn(f"{what}; {bad.sum()} such faces are left out", stacklevel=2)
        flat, face = flat[~bad[face]], face[~bad[face]]
        lengths = np.diff(ends)[~bad]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return attach_cycles(_graph(points, flat, ends, name), flat, ends)


def _graph(
    points: np.ndarray,
    flat: Int64[np.ndarray, " corner"],
    ends: Int64[np.ndarray, " face_plus_1"],
    name: str,
) -> Graph:
    """The vertices and the sides of the faces."""
    following = np.arange(1, len(flat) + 1)
    following[ends[1:] - 1] = ends[:-1]
    there = flat[following]
    keys = np.unique(np.minimum(flat, there) * len(points) + np.maximum(flat, there))
    edges = np.column_stack(np.divmod(keys, max(len(points), 1)))
    return Graph.from_edges(edges, len(points), positions=points, name=name)


def _flat(
    polygons: Sequence[Sequence[int]] | np.ndarray, offsets: ArrayLike | None, where: str
) -> tuple[Int64[np.ndarray, " corner"], Int64[np.ndarray, " face_plus_1"]]:
    if offsets is not None:
        ends = np.asarray(offsets)
        flat = np.asarray(polygons)
        if (
            flat.ndim != 1
            or ends.ndim != 1
            or not len(ends)
            or ends[0] != 0
            or ends[-1] != len(flat)
            or (np.diff(ends) < 0).any()
        ):
            raise ValueError(
                f"{where}: offsets must rise from 0 to the length of the flat polygons "
                f"({flat.shape})"
            )
    elif isinstance(polygons, np.ndarray) and polygons.ndim == 2:
        flat, ends = polygons.ravel(), np.arange(len(polygons) + 1) * polygons.shape[1]
    else:
        lengths = [len(polygon) for polygon in polygons]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        corners = list(itertools.chain.from_iterable(polygons))
        flat = np.array(corners) if corners else np.zeros(0, np.int64)
    if flat.dtype.kind not in "ui":
        raise ValueError(f"{where}: vertex numbers must be integers, got {flat.dtype}")
    return flat.astype(np.int64), ends.astype(np.int64)
