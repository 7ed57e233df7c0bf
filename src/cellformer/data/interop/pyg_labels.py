"""Labels of vertices and edges in PyG's data, with the masks that split them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cellformer.complexes.graph import Graph
from cellformer.data.dataset import PARTS

LabelsOf: TypeAlias = Literal["auto", "graphs", "vertices", "edges"]


@dataclass(frozen=True, eq=False)
class CellLabels:
    """What PyG's data say of the cells of one rank."""

    rank: int
    values: NDArray[np.float64]  # a row for every cell of all graphs, NaN where one is missing
    parts: NDArray[Any] | None  # train, val, test, or empty, for each; None without masks


def cell_labels(
    items: Sequence[Any], graphs: Sequence[Graph], of: LabelsOf, name: str, flips: bool = False
) -> CellLabels | None:
    """The labels of vertices or edges; None where the graphs have the targets, or nothing has.

    Labels are those of vertices where ``y`` of every item has a row for each vertex, and of edges
    where it has one for each column of ``edge_index``, or where there is an ``edge_label``; with
    ``of`` it is said. Those that ``flips`` says have the other sign in the other direction of an
    edge, and are given along the graph's edges. Raises ValueError, naming the item, where they do
    not fit.
    """
    if of == "graphs" or not items:
        return None
    if of != "vertices" and all(_has(item, "edge_label") for item in items):
        read = [_edge_labels(item, graph, f"{name}: item {index}", flips)
                for index, (item, graph) in enumerate(zip(items, graphs, strict=True))]  # fmt: skip
        return _joined(1, read)
    rank = _rank(items, graphs) if of == "auto" else ("vertices", "edges").index(of)
    if rank is None:
        return None
    labeled = []
    for index, (item, graph) in enumerate(zip(items, graphs, strict=True)):
        where = f"{name}: item {index}"
        if not _has(item, "y"):
            raise ValueError(f"{where} has no y")
        expected = _columns(item).shape[0] if rank else graph.num_vertices
        values = _rows(item.y)
        if len(values) != expected:
            raise ValueError(
                f"{where}: y has {len(values)} rows for {expected} "
                f"{'columns of edge_index' if rank else 'vertices'}"
            )
        parts = _parts(item, len(values), where)
        labeled.append(
            _on_edges(graph, _columns(item), values, parts, where, flips)
            if rank
            else (values, parts)
        )
    return _joined(rank, labeled)


def _rank(items: Sequence[Any], graphs: Sequence[Graph]) -> int | None:
    """0 or 1 where every y has a row for each vertex, or for each column of edge_index."""
    if not all(_has(item, "y") and item.y.dim() for item in items):
        return None
    rows = [len(item.y) for item in items]
    if max(rows) < 2:  # as PyG writes targets of graphs
        return None
    if rows == [graph.num_vertices for graph in graphs]:
        return 0
    return 1 if rows == [len(_columns(item)) for item in items] else None


def _edge_labels(
    item: Any, graph: Graph, where: str, flips: bool
) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    values = _rows(item.edge_label)
    given = _has(item, "edge_label_index")
    pairs = item.edge_label_index.detach().cpu().numpy().T if given else _columns(item)
    if len(pairs) != len(values):
        raise ValueError(
            f"{where}: edge_label has {len(values)} rows for {len(pairs)} columns of "
            f"{'edge_label_index' if given else 'edge_index'}"
        )
    return _on_edges(graph, pairs, values, _parts(item, len(values), where), where, flips)


def _on_edges(
    graph: Graph,
    pairs: NDArray[np.int64],
    values: NDArray[np.float64],
    parts: NDArray[Any] | None,
    where: str,
    flips: bool,
) -> tuple[NDArray[np.float64], NDArray[Any] | None]:
    """What is said of pairs of vertices, of both directions alike, as that of edges."""
    if flips:
        values = np.where(pairs[:, :1] > pairs[:, 1:], -values, values)
    edges = graph.edge_numbers(pairs)
    absent = (edges < 0) & (pairs[:, 0] != pairs[:, 1])
    if absent.any():
        pair = pairs[int(absent.argmax())].tolist()
        raise ValueError(
            f"{where}: vertices {pair[0]} and {pair[1]} have an edge label, but edge_index joins "
            "them by no edge; only edges are predicted, not whether there is one"
        )
    found = np.full((graph.num_edges, values.shape[1]), np.nan)
    said = None if parts is None else np.full(graph.num_edges, "", object)
    for direction in (0, 1):  # where both say something, the first one does
        own = (edges >= 0) & ((pairs[:, 0] > pairs[:, 1]) == bool(direction))
        ours, new = edges[own], values[own]
        unlike = (found[ours] != new) & ~np.isnan(found[ours]) & ~np.isnan(new)
        if unlike.any():
            pair = pairs[own][int(unlike.any(axis=1).argmax())].tolist()
            raise ValueError(
                f"{where}: the two directions of the edge between vertices {pair[0]} and {pair[1]} "
                f"have labels that do not agree; edges have no direction here"
                f"{', and flows have opposite signs' if flips else ' (see flips)'}"
            )
        found[ours] = np.where(np.isnan(new), found[ours], new)
        if said is not None and parts is not None:
            clash = (said[ours] != "") & (parts[own] != "") & (said[ours] != parts[own])
            if clash.any():
                pair = pairs[own][int(clash.argmax())].tolist()
                raise ValueError(
                    f"{where}: the two directions of the edge between vertices {pair[0]} and "
                    f"{pair[1]} are in different masks"
                )
            said[ours] = np.where(parts[own] == "", said[ours], parts[own])
    return found, said


def _parts(item: Any, rows: int, where: str) -> NDArray[Any] | None:
    """The part of every labeled cell by the masks of an item, if it has any."""
    masks = {part: f"{part}_mask" for part in PARTS if _has(item, f"{part}_mask")}
    if not masks:
        return None
    parts = np.full(rows, "", object)
    for part, key in masks.items():
        mask = item[key].detach().cpu().numpy()
        if mask.ndim == 2:
            raise ValueError(
                f"{where}: {key} has {mask.shape[1]} columns, one for each of several splits; "
                f"choose one, as by data.{key} = data.{key}[:, 0]"
            )
        if mask.shape != (rows,):
            raise ValueError(f"{where}: {key} has the shape {mask.shape} for {rows} labels")
        inside = mask.astype(bool)
        twice = inside & (parts != "")
        if twice.any():
            cell = int(twice.argmax())
            raise ValueError(f"{where}: label {cell} is in {parts[cell]}_mask and in {key}")
        parts[inside] = part
    return parts


def _joined(
    rank: int, read: Sequence[tuple[NDArray[np.float64], NDArray[Any] | None]]
) -> CellLabels:
    masked = any(parts is not None for _, parts in read)
    told = [np.full(len(v), "", object) if p is None else p for v, p in read]
    return CellLabels(
        rank, np.concatenate([v for v, _ in read]), np.concatenate(told) if masked else None
    )


def _has(item: Any, key: str) -> bool:
    return item.get(key) is not None


def _columns(item: Any) -> NDArray[np.int64]:
    """The pairs of vertices in edge_index."""
    if not _has(item, "edge_index"):
        return np.zeros((0, 2), np.int64)
    pairs: NDArray[np.int64] = item.edge_index.detach().cpu().numpy().T
    return pairs


def _rows(values: Any) -> NDArray[np.float64]:
    """A row for each cell."""
    array: NDArray[np.float64] = values.detach().cpu().numpy().astype(np.float64)
    return array[:, None] if array.ndim == 1 else array.reshape(len(array), -1)
