"""What the tests of the liftings share."""

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from cellformer.complexes.graph import Graph
from cellformer.complexes.matrices import containment


@pytest.fixture
def data():
    """The folder of the real data sets."""
    folder = os.environ.get("CELLFORMER_DATA")
    if not folder:
        pytest.skip("the real data sets are not here: CELLFORMER_DATA is unset")
    return Path(folder)


@pytest.fixture(scope="session")
def vertex_sets():
    """The vertices of each cell of a rank, as ascending tuples in the order of the cells."""

    def of(cells, rank=2, names=None):
        columns = containment(cells, 0, rank).tocsc()
        numbers = np.arange(cells.num_vertices) if names is None else np.asarray(names)
        return [
            tuple(sorted(numbers[columns.indices[start:stop]].tolist()))
            for start, stop in zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
        ]

    return of


@pytest.fixture(scope="session")
def from_networkx():
    """A graph of a networkx graph whose nodes are numbered in their order."""

    def make(network, name=""):
        numbered = nx.convert_node_labels_to_integers(network)
        edges = np.array(numbered.edges, np.int64).reshape(-1, 2)
        return Graph.from_edges(edges, len(numbered), name=name)

    return make


@pytest.fixture(scope="session")
def to_networkx():
    """The networkx graph with the vertices and edges of a graph, in the order of numbers."""

    def make(graph):
        network = nx.Graph()
        network.add_nodes_from(range(graph.num_vertices))
        network.add_edges_from(graph.edges.tolist())
        return network

    return make
