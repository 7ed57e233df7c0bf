"""What OFF, OBJ, PLY and STL files say: coordinates, and the vertex numbers of each face.

A reader raises ValueError where the content is not what it should be.
"""

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cellformer.data.readers.ply import read_ply

Polygons = tuple[np.ndarray, list[list[int]] | np.ndarray]


def _lines(content: bytes) -> Iterator[list[str]]:
    """The words of each line that has any, without comments."""
    for line in content.decode("utf-8", "replace").replace("\\\n", " ").splitlines():
        words = line.split("#", 1)[0].split()
        if words:
            yield words


def _read_off(content: bytes) -> Polygons:
    """Object File Format, in text: counts, vertices, faces as "corners v v v ... [color]"."""
    lines = list(_lines(content))
    if not lines:
        raise ValueError("it is empty")
    header = lines[0][0]
    if not header.endswith("OFF"):
        raise ValueError(f"it starts with {header!r} instead of OFF")
    if header.removesuffix("OFF").strip("STCN"):
        raise ValueError(f"{header} files, in four or n dimensions, are not supported")
    if lines[0][1:2] == ["BINARY"]:
        raise ValueError("binary OFF is not supported; save it as text")
    rows = [lines[0][1:], *lines[1:]] if len(lines[0]) > 1 else lines[1:]
    num_vertices, num_faces = int(rows[0][0]), int(rows[0][1])
    if len(rows) < 1 + num_vertices + num_faces:
        raise ValueError(
            f"{num_vertices} vertices and {num_faces} faces are announced, but only "
            f"{len(rows) - 1} lines follow"
        )
    faces = []
    for number, row in enumerate(rows[1 + num_vertices : 1 + num_vertices + num_faces]):
        corners = int(row[0])
        if len(row) <= corners:
            raise ValueError(f"face {number} has fewer than the {corners} corners it announces")
        faces.append([int(word) for word in row[1 : corners + 1]])
    return _points([row[:3] for row in rows[1 : 1 + num_vertices]]), faces


def _read_obj(content: bytes) -> Polygons:
    """Wavefront OBJ: lines "v x y z" and "f v/vt/vn ..."; numbers from 1, negative from the end."""
    vertices: list[list[str]] = []
    faces: list[list[int]] = []
    for words in _lines(content):
        if words[0] == "v":
            vertices.append(words[1:4])
        elif words[0] == "f":
            numbers = [int(word.split("/", 1)[0]) for word in words[1:]]
            if 0 in numbers:
                raise ValueError(f"face {len(faces)} names vertex 0; OBJ counts from 1")
            faces.append([n - 1 if n > 0 else len(vertices) + n for n in numbers])
    return _points(vertices), faces


def _read_stl(content: bytes) -> Polygons:
    """Stereolithography, text or binary, through trimesh."""
    try:
        import trimesh
    except ImportError as error:
        raise ImportError('reading STL needs trimesh: pip install "cellformer[mesh]"') from error
    mesh: Any = trimesh.load(io.BytesIO(content), file_type="stl", force="mesh", process=False)
    points, first, inverse = np.unique(
        np.array(mesh.vertices, np.float64), return_index=True, return_inverse=True, axis=0
    )
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return points[order], number[inverse.ravel()][np.asarray(mesh.faces)]


def _points(rows: list[list[str]]) -> np.ndarray:
    bad = [i for i, row in enumerate(rows) if len(row) != 3]
    if bad:
        raise ValueError(f"vertex {bad[0]} has not three coordinates")
    return np.array(rows, np.float64).reshape(-1, 3)


MESH_READERS: dict[str, Callable[[bytes], Polygons]] = {
    ".off": _read_off,
    ".obj": _read_obj,
    ".ply": read_ply,
    ".stl": _read_stl,
}
"""A reader for each suffix."""
