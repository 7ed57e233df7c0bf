"""Graphs from PyTorch Geometric and back."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.data.interop.attributes import beside

if TYPE_CHECKING:
    import torch_geometric.data


def from_pyg(data: "torch_geometric.data.Data", name: str = "") -> Graph:
    """The graph of a PyG ``Data``, each undirected edge once.

    Read are ``edge_index``, ``num_nodes``, ``pos``, and as features ``x``, ``x_discrete``,
    ``edge_attr`` and ``edge_attr_discrete``: an integer tensor gives discrete columns, a
    floating-point one continuous columns. ``x_signed`` and ``edge_attr_signed`` give signed ones
    (see `Features`), those of edges along ``edge_index``. ``y`` and everything else is ignored; it
    belongs to the task, not to the graph.

    PyG stores an undirected edge as two directed ones. The first of the two decides the edge's
    place and features. An edge stored in one direction only becomes the same undirected edge:
    the direction is forgotten. Only a second copy in the same direction counts as parallel.

    Raises ValueError if the number of vertices is unknown or features do not fit.
    """
    where = f"graph {name!r}" if name else "graph"
    pairs = _numpy(data.edge_index).T if "edge_index" in data else np.zeros((0, 2), np.int64)
    rows = [len(data[key]) for key in ("x", "x_discrete", "pos") if key in data and data[key].dim()]
    if "num_nodes" in data:
        rows.insert(0, int(data.num_nodes))
    if not rows and not len(pairs):
        raise ValueError(f"{where}: set num_nodes on the PyG data, nothing tells how many it has")
    num_vertices = rows[0] if rows else int(pairs.max()) + 1
    graph = Graph.from_edges(
        pairs,
        num_vertices,
        _features(data, ("x_discrete", "x"), num_vertices, where),
        _features(data, ("edge_attr_discrete", "edge_attr"), len(pairs), where),
        _numpy(data.pos) if "pos" in data else None,
        name,
    )
    return replace(graph, dropped_parallel=_second_copies(pairs, num_vertices))


def to_pyg(graph: Graph) -> "torch_geometric.data.Data":
    """A PyG ``Data`` with every edge in both directions, the first half from low to high.

    Discrete columns become an integer ``x`` (``edge_attr``) and continuous columns a float32 one;
    where a graph has both, ``x`` is the continuous one and ``x_discrete`` holds the rest, as
    `from_pyg` reads them. Signed columns of edges have the other sign in the other direction. The
    round trip gives the same graph. Needs the extra: ``pip install "cellformer[pyg]"``, else
    ImportError.
    """
    try:
        from torch_geometric.data import Data
    except ImportError as error:
        raise ImportError(
            'PyTorch Geometric is not installed; run: pip install "cellformer[pyg]"'
        ) from error

    forward = torch.from_numpy(graph.edges.T.copy())
    made = Data(edge_index=torch.cat([forward, forward.flip(0)], dim=1))
    made.num_nodes = graph.num_vertices
    for key, values in _tensors(graph.vertex_features, "x").items():
        made[key] = values
    for key, values in _tensors(graph.edge_features, "edge_attr").items():
        other = -values if key.endswith("_signed") else values
        made[key] = torch.cat([values, other])
    if graph.positions is not None:
        made.pos = torch.from_numpy(graph.positions.copy())
    return made


def _numpy(values: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = values.detach().cpu().numpy()
    return array


def _features(
    data: "torch_geometric.data.Data", keys: tuple[str, str], rows: int, where: str
) -> Features:
    parts = [Features.empty(rows)] + [
        Features.of(_numpy(data[key]), rows, f"{where}: {key}") for key in keys if key in data
    ]
    signed = f"{keys[1]}_signed"
    if signed in data:
        values = _numpy(data[signed])
        parts.append(Features.empty(rows).with_signed(values, f"{where}: {signed}"))
    return beside(parts)


def _tensors(features: Features, key: str) -> dict[str, Tensor]:
    found = {}
    if features.continuous.shape[1]:
        found[key] = torch.from_numpy(features.continuous.copy())
    if features.discrete.shape[1]:
        found[f"{key}_discrete" if found else key] = torch.from_numpy(features.discrete.copy())
    if features.signed.shape[1]:
        found[f"{key}_signed"] = torch.from_numpy(features.signed.copy())
    return found


def _second_copies(pairs: Int64[np.ndarray, "edge 2"], num_vertices: int) -> int:
    """Edges beyond the first between two vertices, where two opposite directions are one edge."""
    tails, heads = pairs[pairs[:, 0] != pairs[:, 1]].T
    forward = tails < heads
    keys = np.minimum(tails, heads) * num_vertices + np.maximum(tails, heads)
    _, edge = np.unique(keys, return_inverse=True)
    one_way = np.bincount(edge[forward], minlength=edge.max(initial=-1) + 1)
    other_way = np.bincount(edge[~forward], minlength=edge.max(initial=-1) + 1)
    copies = np.maximum(one_way, other_way)
    return int((copies - 1).sum())
