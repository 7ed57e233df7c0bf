"""Lists of networkx graphs as graph sets, with targets that are attributes of nodes or edges."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from cellformer.complexes.graph import Graph
from cellformer.data.cell_targets import with_cell_targets
from cellformer.data.dataset import PARTS, GraphSet, Kind, Metric, rows_of
from cellformer.data.flat import in_memory
from cellformer.data.interop.networkx_graph import from_networkx
from cellformer.data.targets import Value

Attributes = Sequence[Mapping[str, Any]]
"""Those of the vertices, or edges, of a graph, in their order."""


def from_networkx_list(
    graphs: "Sequence[nx.Graph[Any]]",
    vertex_targets: Sequence[str] = (),
    edge_targets: Sequence[str] = (),
    split: str | Mapping[str, ArrayLike] | None = None,
    vertex_features: Sequence[str] = (),
    edge_features: Sequence[str] = (),
    positions: str | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    name: str = "graphs",
) -> GraphSet:
    """The graphs in their order, read as by `from_networkx`, with attributes as targets.

    ``vertex_targets`` or ``edge_targets`` name attributes of nodes or of edges: fractions are a
    regression, whole numbers and words classes, unless ``kind`` says otherwise. Where the attribute
    is absent, None or NaN, the target is missing. ``split`` names an attribute of the same nodes or
    edges that is train, val or test, absent for those in no part, or has the numbers of whole
    graphs by part. Raises ValueError, naming graph and node, where something does not fit.
    """
    if vertex_targets and edge_targets:
        raise ValueError(f"{name}: name targets of vertices or of edges, not of both")
    if isinstance(split, str) and not (vertex_targets or edge_targets):
        raise ValueError(f"{name}: an attribute that splits nodes or edges needs targets of these")
    made = [
        from_networkx(graph, vertex_features, edge_features, positions, f"{name}[{number}]")
        for number, graph in enumerate(graphs)
    ]
    if not (vertex_targets or edge_targets):
        rows = None if split is None or isinstance(split, str) else rows_of(split)
        return in_memory(made, split=rows, name=name)
    rank = 1 if edge_targets else 0
    cells = [_cells(graph, own, rank) for graph, own in zip(graphs, made, strict=True)]
    columns = {
        target: [_value(cell, target, f"{name}[{number}]")
                 for number, own in enumerate(cells) for cell in own]
        for target in (vertex_targets or edge_targets)
    }  # fmt: skip
    for target, values in columns.items():
        if all(value is None for value in values):
            raise ValueError(
                f"{name}: no {'edge' if rank else 'node'} has the attribute {target!r}"
            )
    parts = _parts(cells, split, name) if isinstance(split, str) else None
    opened = with_cell_targets(made, rank, columns, parts, kind, metric, name)
    if split is None or isinstance(split, str):
        return opened
    return replace(opened, split=rows_of(split))


def _cells(graph: "nx.Graph[Any]", made: Graph, rank: int) -> Attributes:
    """The attributes of nodes, or of the edges that are kept."""
    if rank == 0:
        return [data for _, data in graph.nodes(data=True)]
    number = {node: index for index, node in enumerate(graph.nodes)}
    listed = list(graph.edges(data=True))
    pairs = np.array([(number[u], number[v]) for u, v, _ in listed], np.int64).reshape(-1, 2)
    found: dict[int, Mapping[str, Any]] = {}
    for edge, (_, _, data) in zip(made.edge_numbers(pairs).tolist(), listed, strict=True):
        found.setdefault(edge, data)  # the first of parallel edges is the one that is kept
    return [found[edge] for edge in range(made.num_edges)]


def _value(cell: Mapping[str, Any], target: str, where: str) -> Value:
    value = cell.get(target)
    if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0:
        value = value.item()
    if value is None or value != value:
        return None
    if not isinstance(value, int | float | str):
        raise ValueError(
            f"{where}: the attribute {target!r} is {value!r}, neither a number nor a word"
        )
    return value


def _parts(cells: Sequence[Attributes], split: str, name: str) -> NDArray[Any]:
    words = [cell.get(split) or "" for own in cells for cell in own]
    strange = sorted({str(word) for word in words} - {*PARTS, ""})
    if strange:
        raise ValueError(
            f"{name}: the attribute {split!r} is {strange[0]!r}; expected {', '.join(PARTS)}"
        )
    return np.array(words, object)
