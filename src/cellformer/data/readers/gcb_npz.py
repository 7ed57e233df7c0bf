"""The original files of the graph classification benchmark (GCB).

An ``.npz`` with the arrays ``adj`` (scipy CSR matrices), ``feat`` (one-hot colors) and ``class``
(one-hot) of the parts ``tr``, ``val`` and ``te``. The first two are arrays of objects, hence
pickles; they are read by `read_pickle`, which builds nothing else.
"""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.archives import one_line, opened_archive
from cellformer.data.dataset import GraphSet, Task
from cellformer.data.flat import FlatGraphs
from cellformer.data.readers.restricted import ArrayRecord, SparseRecord, read_pickle

PARTS = {"train": "tr", "val": "val", "test": "te"}
GCB_TASK = Task("multiclass", ("class",), "accuracy", (0, 1, 2))


def is_gcb_archive(file: Path) -> bool:
    """Whether a file has the arrays of the original GCB layout."""
    try:
        with opened_archive(file) as archive:
            return {"tr_adj.npy", "tr_feat.npy", "tr_class.npy"} <= set(archive.namelist())
    except ValueError:
        return False  # whoever reads it tells what is wrong


def read_gcb(file: Path, name: str) -> GraphSet:
    """The graphs in the order train, val, test; the feature is the number of a vertex's color.

    Raises ValueError, naming the file, the array and the graph, where anything else is found.
    """
    matrices: list[NDArray[np.int64]] = []
    colors: list[NDArray[np.int64]] = []
    classes: list[NDArray[np.int64]] = []
    split: dict[str, NDArray[np.int64]] = {}
    with opened_archive(file) as archive:
        for part, prefix in PARTS.items():
            where = f"{file}: array {prefix}"
            adjacencies = _objects(archive, f"{prefix}_adj", f"{where}_adj")
            features = _objects(archive, f"{prefix}_feat", f"{where}_feat")
            one_hot = _numbers(archive, f"{prefix}_class", f"{where}_class")
            if not len(adjacencies) == len(features) == len(one_hot):
                raise ValueError(
                    f"{where}: {len(adjacencies)} adjacencies, {len(features)} features and "
                    f"{len(one_hot)} classes"
                )
            first = len(colors)
            split[part] = np.arange(first, first + len(one_hot))
            classes.append(_positions(one_hot, f"{where}_class"))
            for graph, (adjacency, feature) in enumerate(zip(adjacencies, features, strict=True)):
                here = f"{where}, graph {graph}"
                if not isinstance(feature, ArrayRecord):
                    raise ValueError(f"{here}: the features are no array")
                colors.append(_positions(feature.array(), here))
                matrices.append(_edges(adjacency, len(colors[-1]), here))
    vertices, edges = [len(one) for one in colors], [len(one) for one in matrices]
    flat = FlatGraphs(
        name,
        0,
        np.concatenate([[0], np.cumsum(vertices)]),
        np.concatenate([[0], np.cumsum(edges)]),
        np.concatenate([np.zeros((0, 2), np.int64), *matrices]).T,
        np.concatenate([np.zeros(0, np.int64), *colors]).astype(np.int32)[:, None],
        np.zeros((sum(vertices), 0), np.float32),
        np.zeros((sum(edges), 0), np.int32),
        np.zeros((sum(edges), 0), np.float32),
    )
    targets = np.concatenate(classes).astype(np.float32)[:, None]
    return GraphSet(name, flat, targets, GCB_TASK, split, flat.digest())


def _array_file(archive: zipfile.ZipFile, name: str, where: str) -> tuple[Any, bool, bytes]:
    """The shape of an array, whether it holds objects, and its content."""
    try:
        stream = io.BytesIO(archive.read(f"{name}.npy"))
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read(stream)
    except Exception as error:  # a damaged archive raises nearly any kind
        raise ValueError(f"{where}: it is missing or damaged ({one_line(error)})") from None
    return shape, bool(dtype.hasobject), stream.read()


def _objects(archive: zipfile.ZipFile, name: str, where: str) -> list[Any]:
    shape, has_objects, content = _array_file(archive, name, where)
    if not has_objects or len(shape) != 1:
        raise ValueError(f"{where}: a list of matrices was expected")
    try:
        recorded = read_pickle(content)
        if not isinstance(recorded, ArrayRecord):
            raise ValueError("it holds no array")
        return recorded.items()
    except ValueError as error:
        raise ValueError(f"{where}: this pickle is not read: {error}") from None


def _numbers(archive: zipfile.ZipFile, name: str, where: str) -> NDArray[Any]:
    _, has_objects, _ = _array_file(archive, name, where)
    if has_objects:
        raise ValueError(f"{where}: numbers were expected, not objects")
    try:
        with archive.open(f"{name}.npy") as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    except Exception as error:  # a damaged archive raises nearly any kind
        raise ValueError(f"{where}: it is damaged ({one_line(error)})") from None
    return array


def _positions(one_hot: NDArray[Any], where: str) -> NDArray[np.int64]:
    """Where each row has its 1."""
    if one_hot.ndim != 2 or not (np.isin(one_hot, (0, 1)).all() and (one_hot.sum(1) == 1).all()):
        raise ValueError(f"{where}: rows of zeros and a single one were expected")
    positions: NDArray[np.int64] = one_hot.argmax(axis=1)
    return positions


def _edges(recorded: Any, vertices: int, where: str) -> NDArray[np.int64]:
    """Each undirected edge once; the upper triangle of the matrix."""
    if not isinstance(recorded, SparseRecord):
        raise ValueError(f"{where}: the adjacency is no sparse matrix")
    ends, columns, values = (recorded.part(key) for key in ("indptr", "indices", "data"))
    if not all(isinstance(one, ArrayRecord) for one in (ends, columns, values)):
        raise ValueError(f"{where}: a sparse matrix consists of arrays")
    indptr, indices = ends.array().astype(np.int64), columns.array().astype(np.int64)
    if (
        recorded.part("_shape") != (vertices, vertices)
        or indptr.shape != (vertices + 1,)
        or (np.diff(indptr) < 0).any()
        or indptr[0] != 0
        or indptr[-1] != len(indices)
        or len(values.array()) != len(indices)
    ):
        raise ValueError(f"{where}: the adjacency is no matrix of its {vertices} vertices")
    rows = np.repeat(np.arange(vertices), np.diff(indptr))
    present = (values.array() != 0) & (rows < indices)
    return np.stack([rows[present], indices[present]], axis=1)
