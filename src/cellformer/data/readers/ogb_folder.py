"""Graph sets of the Open Graph Benchmark, as its archives hold them (``csv_mol_download``).

A folder with ``raw/`` (``edge``, ``num-node-list``, ``num-edge-list``, ``graph-label`` and, where
there are features, ``node-feat`` and ``edge-feat``, each ``.csv.gz``) and ``split/NAME/`` with
``train``, ``valid`` and ``test``. Read without the ``ogb`` package, which asks questions on the
terminal.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cellformer.complexes.features import Features
from cellformer.data.dataset import GraphSet, Task
from cellformer.data.flat import FlatGraphs
from cellformer.data.readers.places import Place, folders, place_of, read_integers, read_rows

SPLIT_FILES = {"train": "train", "val": "valid", "test": "test"}


def is_ogb_folder(path: Path) -> bool:
    """Whether a folder has the layout of OGB."""
    return path.is_dir() and _root(path) is not None


def read_ogb(path: Path, name: str) -> GraphSet:
    """The graphs of an OGB folder or archive, each bond once.

    Where the edges are listed in both directions, the first of the two decides place and
    features. Labels of 0 and 1 are binary tasks, other whole numbers classes, anything else
    values. Raises ValueError, naming the file, at every inconsistency.
    """
    root = _root(place_of(path))
    if root is None:
        raise ValueError(f"{path} is no graph set of OGB: it has no raw/edge.csv.gz")
    raw = root / "raw"
    vertices = read_integers(raw / "num-node-list.csv.gz", 1).ravel()
    edges = read_integers(raw / "num-edge-list.csv.gz", 1).ravel()
    ends = read_integers(raw / "edge.csv.gz", 2)
    if len(vertices) != len(edges) or (vertices < 0).any() or (edges < 0).any():
        raise ValueError(f"{raw}: {len(vertices)} counts of nodes and {len(edges)} of edges")
    if len(ends) != edges.sum():
        raise ValueError(
            f"{raw / 'edge.csv.gz'}: {len(ends)} edges where num-edge-list counts {edges.sum()}"
        )
    if (ends < 0).any() or (ends >= np.repeat(vertices, edges)[:, None]).any():
        raise ValueError(f"{raw / 'edge.csv.gz'}: an edge names a node that its graph lacks")
    of_vertices = _features(raw, "node-feat", int(vertices.sum()))
    of_edges = _features(raw, "edge-feat", int(edges.sum()))
    flat = FlatGraphs(
        name,
        0,
        np.concatenate([[0], np.cumsum(vertices)]),
        np.concatenate([[0], np.cumsum(edges)]),
        ends.T,
        of_vertices.discrete.astype(np.int32),
        of_vertices.continuous,
        of_edges.discrete.astype(np.int32),
        of_edges.continuous,
    )
    targets, task = _targets(raw / "graph-label.csv.gz", len(flat))
    return GraphSet(name, flat, targets, task, _split(root), flat.digest())


def _root(path: Place) -> Place | None:
    return next((at for at in folders(path) if (at / "raw" / "edge.csv.gz").exists()), None)


def _features(raw: Place, name: str, rows: int) -> Features:
    file = raw / f"{name}.csv.gz"
    if not file.exists():
        return Features.empty(rows)
    values = read_rows(file)
    whole = bool((values == np.round(values)).all() and (values >= 0).all())
    return Features.of(values.astype(np.int64) if whole else values, rows, str(file))


def _targets(file: Place, graphs: int) -> tuple[NDArray[np.float32], Task]:
    values = read_rows(file)
    if len(values) != graphs:
        raise ValueError(f"{file}: {len(values)} rows of labels for {graphs} graphs")
    columns = values.shape[1]
    names = tuple(f"y{number}" for number in range(columns)) if columns > 1 else ("y",)
    found = np.unique(values[np.isfinite(values)])
    if set(found) <= {0.0, 1.0}:
        task = Task("binary", names, "rocauc", (0, 1))
    elif columns == 1 and np.array_equal(found, np.arange(len(found))):
        task = Task("multiclass", names, "accuracy", tuple(range(len(found))))
    else:
        task = Task("regression", names, "mae")
    return values.astype(np.float32), task


def _split(root: Place) -> dict[str, NDArray[np.int64]] | None:
    kinds: list[Place] = []
    if (root / "split").exists():
        kinds += (root / "split").iterdir()
    found = [at for at in kinds if (at / "train.csv.gz").exists()]
    if len(found) > 1:
        raise ValueError(
            f"{root / 'split'} has {len(found)} splits, {', '.join(at.name for at in found)}; "
            "leave the one to use"
        )
    if not found:
        return None
    return {
        part: read_integers(found[0] / f"{word}.csv.gz", 1).ravel()
        for part, word in SPLIT_FILES.items()
    }
