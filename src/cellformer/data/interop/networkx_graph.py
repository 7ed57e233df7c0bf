"""Graphs from networkx and back."""

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np

from cellformer.complexes.graph import Graph
from cellformer.data.interop.attributes import gather, gather_positions, spread


def from_networkx(
    graph: "nx.Graph[Any]",
    vertex_features: Sequence[str] = (),
    edge_features: Sequence[str] = (),
    positions: str | None = None,
    name: str = "",
) -> Graph:
    """A networkx graph of any of its four classes; directions are forgotten.

    Vertex i is the i-th node in the graph's own order, whatever the nodes are named, and edges
    keep the order in which the graph lists them. ``vertex_features`` and ``edge_features`` name
    attributes: whole numbers (and booleans) become discrete columns, floating-point numbers
    continuous ones, and a sequence of numbers several columns. An attribute ``signed`` of edges
    holds flows along them, from the first node that the graph lists to the second. ``positions``
    names the node
    attribute that holds coordinates. Self-loops and all but the first of parallel edges are
    dropped and counted; the opposite edges of a directed graph are parallel.

    Raises ValueError, naming the node or edge and the attribute, where one is missing.
    """
    number = {node: index for index, node in enumerate(graph.nodes)}
    nodes = [data for _, data in graph.nodes(data=True)]
    listed = list(graph.edges(data=True))
    where = f"graph {name!r}: " if name else ""
    return Graph.from_edges(
        np.array([(number[u], number[v]) for u, v, _ in listed], np.int64).reshape(-1, 2),
        len(nodes),
        gather(nodes, vertex_features, f"{where}node"),
        gather([data for _, _, data in listed], edge_features, f"{where}edge"),
        gather_positions(nodes, positions, f"{where}node"),
        name,
    )


def to_networkx(graph: Graph) -> "nx.Graph[int]":
    """A ``networkx.Graph`` on the nodes 0, 1, ... with features and positions as attributes.

    The attributes are tuples named ``discrete``, ``continuous``, ``signed`` and ``position``, each
    present where the graph has it. networkx lists edges by node, so their order may change.
    """
    made: nx.Graph[int] = nx.Graph(name=graph.name)
    for vertex, attributes in enumerate(spread(graph.vertex_features)):
        if graph.positions is not None:
            attributes["position"] = tuple(graph.positions[vertex].tolist())
        made.add_node(vertex, **attributes)
    for (low, high), attributes in zip(
        graph.edges.tolist(), spread(graph.edge_features), strict=True
    ):
        made.add_edge(low, high, **attributes)
    return made
