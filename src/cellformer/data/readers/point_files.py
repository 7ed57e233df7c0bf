"""Clouds of points in files."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.archives import one_line
from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.data.readers.mesh_file import read_mesh

POINT_SUFFIXES = (".xyz", ".npy")
"""The suffixes of files that hold points and nothing else."""
FACELESS_SUFFIXES = (".off", ".ply")
"""The suffixes of meshes that may have no faces, and are points then."""


class PointFileError(ValueError):
    """A file of points cannot be read."""


def read_points(path: str | Path) -> Graph:
    """The points of an XYZ, NPY, OFF or PLY file as a graph without edges, named after the file.

    XYZ: either lines of numbers, of which the first three (or two) are coordinates, or the form of
    chemistry: the number of atoms, a remark, and lines of element and coordinates; the elements
    then are the discrete feature of the vertices. NPY: an array (point, space), without pickles.
    OFF and PLY: as in `read_mesh`. Normals, colors and other columns are not read.

    Raises PointFileError (a ValueError) naming the file if it cannot be understood or has faces.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind in FACELESS_SUFFIXES:
        mesh = read_mesh(path)
        if mesh.num_cells[2]:
            raise PointFileError(
                f"{path} has faces; meshes and point sets belong into folders of their own"
            )
        return _graph(mesh.positions, None, path)
    if kind not in POINT_SUFFIXES:
        known = ", ".join((*POINT_SUFFIXES, *FACELESS_SUFFIXES))
        raise PointFileError(f"{path}: points are read from {known}; convert the file")
    try:
        points, elements = _npy(path.read_bytes()) if kind == ".npy" else _xyz(path.read_text())
    except (ValueError, EOFError) as error:
        raise PointFileError(f"{path}: not a valid {kind} file of points: {error}") from error
    return _graph(points, elements, path)


def has_faces(path: Path) -> bool:
    """Whether a file is a mesh with faces; one that cannot be read counts as such."""
    if path.suffix.lower() not in FACELESS_SUFFIXES:
        return path.suffix.lower() not in POINT_SUFFIXES
    try:
        return read_mesh(path).num_cells[2] > 0
    except ValueError:
        return True  # its reader tells what is wrong


def _graph(points: NDArray[np.float64] | None, elements: list[int] | None, path: Path) -> Graph:
    if points is None or not len(points):
        raise PointFileError(f"{path} holds no points")
    if not np.isfinite(points).all():
        at = int((~np.isfinite(points)).any(axis=1).argmax())
        raise PointFileError(f"{path}: point {at} (counted from 0) is not finite")
    features = None
    if elements is not None:
        features = Features.of(np.array(elements)[:, None], len(points), str(path))
    none = np.zeros((0, 2), np.int64)
    return Graph.from_edges(none, len(points), features, positions=points, name=path.name)


def _npy(content: bytes) -> tuple[NDArray[np.float64], None]:
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # a damaged header raises nearly any kind
        raise ValueError(one_line(error)) from error
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fui":
        raise ValueError("an array of numbers of shape (point, space) is needed")
    if not array.shape[1]:
        raise ValueError("its points have no coordinates")
    return array.astype(np.float64), None


def _xyz(text: str) -> tuple[NDArray[np.float64], list[int] | None]:
    lines = [line.replace(",", " ").split() for line in text.splitlines()]
    if lines and len(lines[0]) == 1 and lines[0][0].isdigit():
        return _atoms(int(lines[0][0]), lines[2:])
    rows = [words for words in lines if words and not words[0].startswith(("#", "//"))]
    wide = min((len(words) for words in rows), default=0)
    if rows and wide < 2:
        raise ValueError("a line has fewer than two numbers")
    return np.array([words[: min(wide, 3)] for words in rows], np.float64), None


def _atoms(count: int, lines: list[list[str]]) -> tuple[NDArray[np.float64], list[int]]:
    rows = [words for words in lines if words]
    if len(rows) != count:
        raise ValueError(
            f"{count} atoms are announced and {len(rows)} lines follow; of a file with several "
            "frames make one file each"
        )
    short = [number for number, words in enumerate(rows) if len(words) < 4]
    if short:
        raise ValueError(f"atom {short[0]} (counted from 0) has no element or not 3 coordinates")
    points = np.array([words[1:4] for words in rows], np.float64).reshape(-1, 3)
    return points, [_element(words[0]) for words in rows]


def _element(word: str) -> int:
    """The atomic number of a symbol, or of a number."""
    from rdkit import Chem, rdBase

    if word.isdigit():
        return int(word)
    with rdBase.BlockLogs():
        try:
            number: int = Chem.GetPeriodicTable().GetAtomicNumber(word.capitalize())
        except RuntimeError:
            number = -1
    if number < 1:
        raise ValueError(f"there is no element {word!r}")
    return number
