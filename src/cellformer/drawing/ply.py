"""A mesh with what is said of its cells, as a PLY file that any viewer of meshes colors."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.orientation import turned_alike
from cellformer.complexes.polygons import boundary_walks, edge_ends, is_polygon

ELEMENTS = ("vertex", "edge", "face")
_CHANNELS = ("red", "green", "blue")
_TYPES = {"f8": "double", "i4": "int", "u1": "uchar"}


def ply_of(
    cells: CellComplex,
    rank: int,
    values: Mapping[str, Float[np.ndarray, " cell"]],
    colors: Float[np.ndarray, "cell 3"],
    comments: Sequence[str] = (),
) -> bytes:
    """The vertices and faces of a complex in space, with numbers and a color per cell of a rank.

    Vertices, edges and faces keep their order; edges are there where they have the values. Faces
    all turn the same way where they can, so that viewers light them alike. Names of values become
    those of properties, with _ for anything but letters of ASCII and digits. ``colors`` are red,
    green and blue in 0 ... 1. Binary, little-endian; coordinates and values are doubles, NaN where
    a value is unknown. Raises ValueError where the complex does not lie in space, a face is no
    polygon, or there is no such rank in a mesh.
    """
    if rank >= len(ELEMENTS):
        raise ValueError(f"a mesh has no cells of rank {rank}")
    places = cells.positions
    if places is None or places.shape[1] not in (2, 3):
        raise ValueError("only complexes whose vertices have places in space are meshes")
    space = np.zeros((cells.num_vertices, 3))
    space[:, : places.shape[1]] = places
    told = {_name(name): np.asarray(column, "<f8") for name, column in values.items()}
    shades = np.round(255 * np.clip(colors, 0, 1)).astype("<u1")
    told |= {channel: shades[:, at] for at, channel in enumerate(_CHANNELS)}
    none: dict[str, NDArray[Any]] = {}
    points = {axis: space[:, at].astype("<f8") for at, axis in enumerate("xyz")}
    head = ["ply", "format binary_little_endian 1.0", *(f"comment {_plain(c)}" for c in comments)]
    vertices = _table(points | (told if rank == 0 else none))
    head += [f"element vertex {cells.num_vertices}", *_properties(vertices)]
    body = [vertices.tobytes()]
    if rank == 1:
        ends = edge_ends(cells).astype("<i4")
        edges = _table({"vertex1": ends[:, 0], "vertex2": ends[:, 1]} | told)
        head += [f"element edge {len(edges)}", *_properties(edges)]
        body.append(edges.tobytes())
    if cells.dim >= 2:
        rows = _table(told if rank == 2 else none, cells.num_cells[2])
        head += [f"element face {cells.num_cells[2]}"]
        head += ["property list uchar int vertex_indices", *_properties(rows)]
        body.append(_faces(cells, rows))
    return "\n".join([*head, "end_header", ""]).encode("ascii") + b"".join(body)


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "value"


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).encode("ascii", "backslashreplace").decode()


def _table(columns: Mapping[str, NDArray[Any]], rows: int = 0) -> NDArray[Any]:
    table = np.zeros(
        len(next(iter(columns.values()))) if columns else rows,
        [(name, column.dtype) for name, column in columns.items()],
    )
    for name, column in columns.items():
        table[name] = column
    return table


def _properties(table: NDArray[Any]) -> list[str]:
    return [
        f"property {_TYPES[table.dtype[name].str[1:]]} {name}" for name in table.dtype.names or ()
    ]


def _faces(cells: CellComplex, rows: NDArray[Any]) -> bytes:
    """The corners of each face, and then its row."""
    found = []
    for number, (walks, turn) in enumerate(
        zip(boundary_walks(cells), turned_alike(cells).tolist(), strict=True)
    ):
        if not is_polygon(walks) or len(walks[0]) > 255:
            raise ValueError(f"face {number} is no polygon of up to 255 corners")
        corners = np.array(walks[0][::turn], "<i4")
        found.append(bytes([len(corners)]) + corners.tobytes() + rows[number].tobytes())
    return b"".join(found)
