"""Graph sets of the TU Dortmund collection: text files ``NAME_A.txt`` and its companions.

Source: Morris et al., "TUDataset: a collection of benchmark data sets for learning with graphs"
(2020), whose read-me describes the files. Labels of nodes and edges are numbered from the smallest
one; attributes are values.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cellformer.complexes.features import Features
from cellformer.data.dataset import GraphSet, Task
from cellformer.data.flat import FlatGraphs
from cellformer.data.readers.places import Place, folders, place_of, read_integers, read_rows

_ENDING = "_graph_indicator.txt"


def is_tu_folder(path: Path) -> bool:
    """Whether a folder has the layout of the TU collection."""
    return path.is_dir() and _root(path) is not None


def read_tu(path: Path, name: str) -> GraphSet:
    """The graphs of a folder or archive of the TU collection; it has no split of its own.

    An edge, listed in both directions, is kept once, with the features of the direction that comes
    first. Raises ValueError, naming the file, at every inconsistency.
    """
    root = _root(place_of(path))
    if root is None:
        raise ValueError(f"{path} is no set of the TU collection: no file ends in {_ENDING}")
    folder, prefix = root
    owner = read_integers(folder / f"{prefix}{_ENDING}", 1).ravel() - 1
    pairs = read_integers(folder / f"{prefix}_A.txt", 2) - 1
    if (np.diff(owner) < 0).any() or (len(owner) and owner[0] < 0):
        raise ValueError(f"{folder / prefix}{_ENDING}: graphs must follow one another, from 1")
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(owner)):
        raise ValueError(
            f"{folder / prefix}_A.txt names node {int(pairs.max()) + 1} of {len(owner)}"
        )
    if (owner[pairs[:, 0]] != owner[pairs[:, 1]]).any():
        raise ValueError(f"{folder / prefix}_A.txt: an edge joins two graphs")
    targets, task = _targets(folder, prefix)
    graphs = len(targets)
    vertices = np.bincount(owner, minlength=graphs)
    if len(vertices) != graphs:
        raise ValueError(f"{folder / prefix}: {len(vertices)} graphs, but {graphs} labels")
    kept = _first_of_each(pairs, len(owner))
    order = kept[np.argsort(owner[pairs[kept, 0]], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(vertices)])
    of_edges = _features(folder, prefix, "edge", len(pairs))
    of_vertices = _features(folder, prefix, "node", len(owner))
    flat = FlatGraphs(
        name,
        0,
        starts,
        np.concatenate([[0], np.cumsum(np.bincount(owner[pairs[order, 0]], minlength=graphs))]),
        (pairs[order] - starts[owner[pairs[order, 0]]][:, None]).T,
        of_vertices.discrete.astype(np.int32),
        of_vertices.continuous,
        of_edges.discrete[order].astype(np.int32),
        of_edges.continuous[order],
    )
    return GraphSet(name, flat, targets, task, None, flat.digest())


def _root(path: Place) -> tuple[Place, str] | None:
    for folder in folders(path):
        for entry in folder.iterdir():
            if entry.name.endswith(_ENDING):
                return folder, entry.name.removesuffix(_ENDING)
    return None


def _first_of_each(pairs: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """The rows of the first of both directions of each edge, self-loops left out."""
    proper = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
    keys = pairs[proper].min(axis=1) * nodes + pairs[proper].max(axis=1)
    return proper[np.sort(np.unique(keys, return_index=True)[1])]


def _features(folder: Place, prefix: str, owner: str, rows: int) -> Features:
    labels = folder / f"{prefix}_{owner}_labels.txt"
    attributes = folder / f"{prefix}_{owner}_attributes.txt"
    discrete = continuous = Features.empty(rows)
    if labels.exists():
        numbers = read_integers(labels)
        smallest = numbers.min(axis=0) if len(numbers) else 0
        discrete = Features.of(numbers - smallest, rows, str(labels))
    if attributes.exists():
        continuous = Features.of(read_rows(attributes), rows, str(attributes))
    return Features(discrete.discrete, continuous.continuous)


def _targets(folder: Place, prefix: str) -> tuple[NDArray[np.float32], Task]:
    values = folder / f"{prefix}_graph_attributes.txt"
    if values.exists():
        rows = read_rows(values)
        names = tuple(f"y{n}" for n in range(rows.shape[1])) if rows.shape[1] > 1 else ("y",)
        return rows.astype(np.float32), Task("regression", names, "mae")
    classes = read_integers(folder / f"{prefix}_graph_labels.txt", 1).ravel()
    labels, numbers = np.unique(classes, return_inverse=True)
    if len(labels) < 2:
        raise ValueError(f"{folder / prefix}_graph_labels.txt: all graphs are of one class")
    words = tuple(labels.tolist())
    targets = numbers.astype(np.float32)[:, None]
    if len(labels) == 2:
        return targets, Task("binary", ("y",), "accuracy", words)
    return targets, Task("multiclass", ("y",), "accuracy", words)
