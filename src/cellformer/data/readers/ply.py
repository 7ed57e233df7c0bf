"""The vertices and faces of a PLY file, text or binary, with polygons of any size."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

_TYPES = {
    "char": "i1",
    "int8": "i1",
    "uchar": "u1",
    "uint8": "u1",
    "short": "i2",
    "int16": "i2",
    "ushort": "u2",
    "uint16": "u2",
    "int": "i4",
    "int32": "i4",
    "uint": "u4",
    "uint32": "u4",
    "float": "f4",
    "float32": "f4",
    "double": "f8",
    "float64": "f8",
}
_ORDERS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
Polygons: TypeAlias = list[list[int]] | np.ndarray
"""The values of one property: an array, or where it is a list also a list per row."""

_FACE_LISTS = ("vertex_indices", "vertex_index")  # both names are in use


@dataclass(frozen=True)
class _Property:
    name: str
    dtype: np.dtype
    count: np.dtype | None = None  # the type of a list's length; None for a scalar


@dataclass(frozen=True)
class _Element:
    name: str
    rows: int
    properties: list[_Property] = field(default_factory=list)


def read_ply(content: bytes) -> tuple[np.ndarray, Polygons]:
    """Coordinates (vertex, 3) and, per face, its vertex numbers; an array if all faces are alike.

    Raises ValueError if the header or the length of the file is wrong.
    """
    order, elements, body = _header(content)
    values = _Text(body) if order == "=" else _Binary(body)
    points: np.ndarray = np.zeros((0, 3))
    faces: Polygons = []
    for element in elements:
        columns = values.read(element)
        if element.name == "vertex":
            missing = {"x", "y", "z"} - columns.keys()
            if missing:
                raise ValueError(f"vertices lack the property {min(missing)}")
            points = np.column_stack([np.asarray(columns[c], np.float64) for c in "xyz"])
        elif element.name == "face":
            names = [name for name in _FACE_LISTS if name in columns]
            if not names:
                raise ValueError(f"faces lack the list {' or '.join(_FACE_LISTS)}")
            faces = columns[names[0]]
    return points, faces


def _header(content: bytes) -> tuple[str, list[_Element], bytes]:
    end = content.find(b"end_header")
    if not content.startswith(b"ply") or end < 0:
        raise ValueError("it has no PLY header")
    order = ""
    elements: list[_Element] = []
    for words in map(str.split, content[:end].decode("ascii", "replace").splitlines()):
        match words:
            case ["format", kind, *_] if kind in _ORDERS:
                order = _ORDERS[kind]
            case ["element", name, rows]:
                elements.append(_Element(name, int(rows)))
            case ["property", "list", count, kind, name]:
                lengths = np.dtype(order + _TYPES[count])
                elements[-1].properties.append(
                    _Property(name, np.dtype(order + _TYPES[kind]), lengths)
                )
            case ["property", kind, name]:
                elements[-1].properties.append(_Property(name, np.dtype(order + _TYPES[kind])))
    if not order:
        raise ValueError("its header names no known format")
    return order, elements, content[content.index(b"\n", end) + 1 :]


class _Binary:
    """Reads elements one after the other from packed bytes."""

    def __init__(self, body: bytes):
        self.body = body
        self.at = 0

    def read(self, element: _Element) -> dict[str, Polygons]:
        """The columns of the next element, by name."""
        return self._alike(element) or self._one_by_one(element)

    def _take(self, dtype: np.dtype, count: int) -> np.ndarray:
        if self.at + dtype.itemsize * count > len(self.body):
            raise ValueError("the file ends too early")
        taken = np.frombuffer(self.body, dtype, count, self.at)
        self.at += dtype.itemsize * count
        return taken

    def _alike(self, element: _Element) -> dict[str, Polygons] | None:
        """All rows at once, if every list is as long as in the first row."""
        start = self.at
        lengths = {}
        fields: list[tuple[str, np.dtype] | tuple[str, np.dtype, int]] = []
        for p in element.properties if element.rows else ():
            if p.count is not None:
                lengths[p.name] = int(self._take(p.count, 1)[0])
                fields.append((f"{p.name} length", p.count))
            length = lengths.get(p.name, 1)
            self._take(p.dtype, length)
            fields.append((p.name, p.dtype, length) if p.count is not None else (p.name, p.dtype))
        self.at = start
        row = np.dtype(fields)
        if start + row.itemsize * element.rows > len(self.body):
            return None
        table = self._take(row, element.rows) if element.rows else np.zeros(0, row)
        if any((table[f"{name} length"] != n).any() for name, n in lengths.items()):
            self.at = start
            return None
        return {p.name: table[p.name] if element.rows else [] for p in element.properties}

    def _one_by_one(self, element: _Element) -> dict[str, Polygons]:
        columns: dict[str, list[Any]] = {p.name: [] for p in element.properties}
        for _ in range(element.rows):
            for p in element.properties:
                if p.count is None:
                    columns[p.name].append(self._take(p.dtype, 1)[0])
                else:
                    length = int(self._take(p.count, 1)[0])
                    columns[p.name].append(self._take(p.dtype, length).tolist())
        return _columns(element, columns)


class _Text:
    """Reads elements one after the other from lines of numbers."""

    def __init__(self, body: bytes):
        self.lines = iter([line for line in body.decode("ascii").splitlines() if line.strip()])

    def read(self, element: _Element) -> dict[str, Polygons]:
        """The columns of the next element, by name."""
        columns: dict[str, list[Any]] = {p.name: [] for p in element.properties}
        for row in range(element.rows):
            line = next(self.lines, None)
            if line is None:
                raise ValueError("the file ends too early")
            words = iter(line.split())
            try:
                for p in element.properties:
                    if p.count is None:
                        columns[p.name].append(float(next(words)))
                    else:
                        length = int(next(words))
                        columns[p.name].append([int(next(words)) for _ in range(length)])
            except StopIteration:
                raise ValueError(f"row {row} of element {element.name} is too short") from None
        return _columns(element, columns)


def _columns(element: _Element, values: dict[str, list[Any]]) -> dict[str, Polygons]:
    return {
        p.name: np.array(values[p.name], np.float64) if p.count is None else values[p.name]
        for p in element.properties
    }
