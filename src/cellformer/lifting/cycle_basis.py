"""The paper's lifting: a face for every cycle of a cycle basis."""

import itertools
from dataclasses import dataclass

import networkx as nx
import numpy as np

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.lifting.skeleton import attach_cycles


@dataclass(frozen=True)
class CycleBasis:
    """The fundamental cycles of a spanning tree, as ``networkx.cycle_basis`` finds them.

    This is TopoNetX's lifting, which the paper uses (section "Experiments"). It is here to
    reproduce the paper: *the faces depend on how the vertices and edges are numbered*, and a
    basis may hold long cycles where short ones exist. `InducedCycles` and `Rings` do neither.

    There is one face for every independent cycle (edges - vertices + components), of any
    length, so no limit is needed.
    """

    def __call__(self, graph: Graph) -> CellComplex:
        """Lifts a graph; its vertices, then its edges, enter networkx in the order of numbers."""
        network: nx.Graph[int] = nx.Graph()
        network.add_nodes_from(range(graph.num_vertices))
        network.add_edges_from(graph.edges.tolist())
        cycles = nx.cycle_basis(network)
        vertices = np.fromiter(itertools.chain.from_iterable(cycles), np.int64)
        offsets = np.zeros(len(cycles) + 1, np.int64)
        np.cumsum([len(cycle) for cycle in cycles], out=offsets[1:])
        return attach_cycles(graph, vertices, offsets)
