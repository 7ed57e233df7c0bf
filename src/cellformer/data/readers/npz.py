"""Graphs in the open layout: one ``.npz`` file of plain arrays, without pickles.

=================================  =================================================================
array                              meaning
=================================  =================================================================
``num_nodes``, ``num_edges``       per graph; an undirected edge is stored once
``edge_index`` (2, E)              node numbers local to their graph, from 0
any other, one row per node/edge   features: integers are categories, floating-point numbers values
``node_signed``, ``edge_signed``   potentials of nodes and flows along edges, which change their
                                   signs with an edge's direction, as `edge_index` has it; see
                                   `Features`
``node_position``                  coordinates of the nodes (for drawing and geometry; no feature)
``y``                              one target per graph or a row of them (optional)
``train_idx val_idx test_idx``     graph numbers of a split (optional)
``kind``, ``target_names``         words that say what ``y`` is, where that is not clear (optional)
=================================  =================================================================

Graphs are concatenated: graph g owns the next ``num_nodes[g]`` node rows and the next
``num_edges[g]`` edge columns. Without ``kind``, floating-point targets are a regression and
integers are classes. Arrays with one row per graph (such as a fold number) are not read.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cellformer.basics.archives import read_arrays
from cellformer.basics.files import replace_atomically
from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.data.dataset import PARTS, GraphSet, Kind, Metric, Task, check_split
from cellformer.data.flat import FlatGraphs
from cellformer.data.targets import (
    Columns,
    classification_of,
    encode_targets,
    make_task,
)

SPLITS = tuple(f"{part}_idx" for part in PARTS)
SIGNED = ("node_signed", "edge_signed")
OWN = ("num_nodes", "num_edges", "edge_index", "node_position", "y", *SPLITS, "kind",
       "target_names")  # fmt: skip


def read_npz(
    path: str | os.PathLike[str],
    target: Sequence[str] | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    task: Task | None = None,
    name: str | None = None,
) -> GraphSet:
    """Reads a file of the open layout; all arrays are read once, graphs are made when asked for.

    ``target`` chooses among several targets by name. ``task`` is that of a trained model, whose
    classes keep their numbers; without it the file poses its own. Raises FileNotFoundError, and
    ValueError naming file and array at every inconsistency.
    """
    file = Path(path)
    arrays = read_arrays(file)
    flat = _flat(arrays, file, name or _stem(file))
    columns = _target_columns(arrays, len(flat), file)
    if target is not None or task is not None:
        columns = _choose(columns, target or (task.targets if task else ()), file)
    if task is None and columns:
        task = make_task(columns, _kind(arrays, columns, kind, file), metric, str(file))
    targets = (
        encode_targets(columns, task, str(file))
        if columns and task is not None
        else np.zeros((len(flat), 0), np.float32)
    )
    return GraphSet(
        flat.name,
        flat,
        targets,
        task if columns else None,
        _split(arrays, len(flat), file),
        flat.digest(),
    )


def write_npz(
    path: str | os.PathLike[str],
    graphs: Sequence[Graph],
    y: ArrayLike | None = None,
    split: Mapping[str, ArrayLike] | None = None,
    kind: Kind | None = None,
    target_names: Sequence[str] | None = None,
    overwrite: bool = False,
) -> None:
    """Writes graphs to a file of the open layout, whole or not at all.

    ``y`` has one value or one row of values per graph, NaN where one is missing (then ``kind``
    says whether the numbers are classes); ``split`` has graph numbers for "train", "val", "test".
    Raises FileExistsError unless ``overwrite``, ValueError where lengths do not fit.
    """
    file = Path(path)
    flat = FlatGraphs.from_graphs(graphs, file.stem)
    write_flat(file, flat, y, split, kind, target_names, overwrite)


def write_flat(
    file: Path,
    flat: FlatGraphs,
    y: ArrayLike | None,
    split: Mapping[str, ArrayLike] | None,
    kind: Kind | None,
    target_names: Sequence[str] | None,
    overwrite: bool,
) -> None:
    """`write_npz` for graphs that are joined already."""
    if file.suffix != ".npz":
        raise ValueError(f"{file}: the name must end in .npz")
    if file.exists() and not overwrite:
        raise FileExistsError(f"{file} exists; remove it or pass overwrite=True")
    arrays: dict[str, NDArray[Any]] = {
        "num_nodes": np.diff(flat.vertex_offsets).astype(np.int32),
        "num_edges": np.diff(flat.edge_offsets).astype(np.int32),
        "edge_index": flat.edge_index.astype(np.int32),
    }
    features = {
        "node_discrete": flat.vertex_discrete,
        "node_continuous": flat.vertex_continuous,
        "edge_discrete": flat.edge_discrete,
        "edge_continuous": flat.edge_continuous,
        "node_signed": flat.vertex_signed,
        "edge_signed": flat.edge_signed,
    }
    arrays.update({key: rows for key, rows in features.items() if rows.shape[1]})
    if flat.positions is not None:
        arrays["node_position"] = flat.positions
    if y is not None:
        arrays["y"] = np.asarray(y)
    if kind is not None:
        arrays["kind"] = np.asarray(kind)
    if target_names is not None:
        arrays["target_names"] = np.asarray(list(target_names), dtype=np.str_)
    if split is not None:
        parts = {part: np.asarray(split.get(part, ()), np.int64) for part in PARTS}
        check_split(parts, len(flat), str(file))
        arrays.update({f"{part}_idx": rows for part, rows in parts.items()})
    columns = _target_columns(arrays, len(flat), file)
    if columns:
        make_task(columns, _kind(arrays, columns, None, file), None, str(file))
    with replace_atomically(file) as unfinished, unfinished.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def _flat(arrays: Mapping[str, NDArray[Any]], file: Path, name: str) -> FlatGraphs:
    for key in ("num_nodes", "num_edges", "edge_index"):
        if key not in arrays:
            raise ValueError(
                f"{file}: array {key!r} is missing; the file has {', '.join(arrays) or 'none'}"
            )
        if arrays[key].dtype.kind not in "ui":
            raise ValueError(f"{file}: array {key!r} must hold integers, not {arrays[key].dtype}")
    nodes, edges, ends = arrays["num_nodes"], arrays["num_edges"], arrays["edge_index"]
    for key in ("num_nodes", "num_edges"):
        if arrays[key].ndim != 1 or (arrays[key].astype(np.int64) < 0).any():
            raise ValueError(f"{file}: array {key!r} must be a list of counts, one per graph")
    if len(nodes) != len(edges):
        raise ValueError(
            f"{file}: 'num_nodes' counts {len(nodes)} graphs, 'num_edges' {len(edges)}"
        )
    vertex_offsets = np.concatenate([[0], np.cumsum(nodes, dtype=np.int64)])
    edge_offsets = np.concatenate([[0], np.cumsum(edges, dtype=np.int64)])
    num_vertices, num_edges = int(vertex_offsets[-1]), int(edge_offsets[-1])
    if ends.shape != (2, num_edges):
        raise ValueError(
            f"{file}: 'edge_index' has shape {ends.shape}, expected (2, {num_edges}), the sum of "
            "'num_edges'; store each undirected edge once"
        )
    outside = (ends < 0) | (ends >= np.repeat(nodes.astype(np.int64), edges))
    if outside.any():
        column = int(outside.any(axis=0).argmax())
        graph = int(np.searchsorted(edge_offsets, column, side="right")) - 1
        raise ValueError(
            f"{file}: 'edge_index' column {column} is {tuple(ends[:, column].tolist())}, but graph "
            f"{graph} has nodes 0..{int(nodes[graph]) - 1}; node numbers are local to their graph"
        )
    features = {
        key: _owner(key, array, (num_vertices, num_edges, len(nodes)), file)
        for key, array in arrays.items()
        if key not in (*OWN, *SIGNED)
    }
    return FlatGraphs(
        name,
        0,
        vertex_offsets,
        edge_offsets,
        ends,
        *_stack(arrays, [k for k in sorted(features) if features[k] == "node"], num_vertices, file),
        *_stack(arrays, [k for k in sorted(features) if features[k] == "edge"], num_edges, file),
        _positions(arrays.get("node_position"), num_vertices, file),
        _signed(arrays, "node_signed", num_vertices, file),
        _signed(arrays, "edge_signed", num_edges, file),
    )


def _owner(key: str, array: NDArray[Any], counts: tuple[int, int, int], file: Path) -> str:
    """Whether an array describes nodes, edges, or neither ("graph": not read)."""
    rows = dict(zip(("node", "edge", "graph"), counts, strict=True))
    if array.ndim == 0 or array.dtype.kind in "US":
        return "graph"  # a remark
    for owner in ("node", "edge"):
        if key.startswith(f"{owner}_"):
            if len(array) != rows[owner]:
                raise ValueError(
                    f"{file}: array {key!r} has {len(array)} rows for {rows[owner]} {owner}s"
                )
            return owner
    possible = [owner for owner, count in rows.items() if count == len(array)]
    if len(possible) != 1:
        reason = (
            f"fits {' and '.join(possible)}s alike"
            if possible
            else f"fits neither the {counts[0]} nodes, the {counts[1]} edges nor the {counts[2]} "
            "graphs"
        )
        raise ValueError(
            f"{file}: array {key!r} has {len(array)} rows, which {reason}; rename it to "
            f"node_{key} or edge_{key}, or remove it"
        )
    return possible[0]


def _stack(
    arrays: Mapping[str, NDArray[Any]], keys: Sequence[str], rows: int, file: Path
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The features of these arrays, by name, so that their order in the file does not matter."""
    columns = [Features.of(arrays[key], rows, f"{file}: array {key!r}") for key in keys]
    return (
        np.hstack([np.zeros((rows, 0), np.int32), *(c.discrete.astype(np.int32) for c in columns)]),
        np.hstack([np.zeros((rows, 0), np.float32), *(c.continuous for c in columns)]),
    )


def _signed(
    arrays: Mapping[str, NDArray[Any]], key: str, rows: int, file: Path
) -> NDArray[np.float32]:
    none = Features.empty(rows)
    if key not in arrays:
        return none.signed
    if arrays[key].dtype.kind not in "fui":
        raise ValueError(f"{file}: array {key!r} must hold numbers, not {arrays[key].dtype}")
    return none.with_signed(arrays[key], f"{file}: array {key!r}").signed


def _positions(array: NDArray[Any] | None, rows: int, file: Path) -> NDArray[np.float64] | None:
    if array is None:
        return None
    if array.ndim != 2 or len(array) != rows or array.dtype.kind not in "fui":
        raise ValueError(
            f"{file}: array 'node_position' has shape {array.shape}, expected ({rows}, dimensions)"
        )
    return array.astype(np.float64)


def _target_columns(arrays: Mapping[str, NDArray[Any]], graphs: int, file: Path) -> Columns:
    if "y" not in arrays:
        return {}
    y = arrays["y"]
    if y.ndim not in (1, 2) or len(y) != graphs or y.dtype.kind not in "fuib":
        raise ValueError(
            f"{file}: array 'y' has shape {y.shape} and type {y.dtype}; expected one number, or a "
            f"row of numbers, for each of {graphs} graphs"
        )
    rows = y[:, None] if y.ndim == 1 else y
    default = ["y"] if rows.shape[1] == 1 else [f"y{column}" for column in range(rows.shape[1])]
    names = [str(word) for word in arrays.get("target_names", np.asarray(default)).ravel()]
    if len(names) != rows.shape[1] or len(set(names)) != len(names):
        raise ValueError(
            f"{file}: 'target_names' are {names}; {rows.shape[1]} different names are needed"
        )
    return {
        word: [None if value != value else value for value in rows[:, column].tolist()]
        for column, word in enumerate(names)
    }


def _choose(columns: Columns, wanted: Sequence[str], file: Path) -> Columns:
    missing = [word for word in wanted if word not in columns]
    if not columns:
        return {}  # nothing to compare with: a set to predict
    if missing:
        raise ValueError(f"{file}: no target {missing[0]!r}; there are {', '.join(columns)}")
    return {word: columns[word] for word in wanted}


def _kind(
    arrays: Mapping[str, NDArray[Any]], columns: Columns, kind: Kind | None, file: Path
) -> Kind:
    if kind is not None:
        return kind
    if "kind" in arrays:
        for known in get_args(Kind):
            if str(arrays["kind"]) == known:
                return known  # type: ignore[no-any-return]
        raise ValueError(f"{file}: 'kind' is {str(arrays['kind'])!r}, not one of {get_args(Kind)}")
    return "regression" if arrays["y"].dtype.kind == "f" else classification_of(columns, str(file))


def _split(
    arrays: Mapping[str, NDArray[Any]], graphs: int, file: Path
) -> dict[str, NDArray[np.int64]] | None:
    if not any(key in arrays for key in SPLITS):
        return None
    if "train_idx" not in arrays:
        raise ValueError(f"{file}: array 'train_idx' is missing beside the others of a split")
    split = {}
    for part in PARTS:
        rows = arrays.get(f"{part}_idx", np.zeros(0, np.int64))
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "ui"):
            raise ValueError(f"{file}: array '{part}_idx' must be a list of graph numbers")
        split[part] = rows.astype(np.int64)
    check_split(split, graphs, str(file))
    return split


def _stem(file: Path) -> str:
    return file.name.removesuffix(".npz")
