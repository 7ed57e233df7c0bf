import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.coloring import cell_colors
from cellformer.complexes.graph import Graph
from cellformer.complexes.relabel import permute
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import lift


def renumbered(cells, seed):
    random = np.random.default_rng(seed)
    orders = [random.permutation(count) for count in cells.num_cells]
    return permute(cells, orders), orders


def partition(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=25)
def test_colors_follow_the_cells(seed):
    drawn = nx.gnm_random_graph(12, 15, seed=seed)
    cells = lift(Graph.from_edges(list(drawn.edges), num_vertices=12), InducedCycles(6))
    other, orders = renumbered(cells, seed)
    for colors, moved, order in zip(cell_colors(cells), cell_colors(other), orders, strict=True):
        np.testing.assert_array_equal(moved, colors[order])


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=25)
def test_vertices_of_a_graph_are_told_apart_as_by_an_independent_refinement(seed):
    drawn = nx.gnm_random_graph(12, 14, seed=seed)
    ends = nx.incidence_matrix(drawn, nodelist=range(12), oriented=True).toarray().astype(int)
    cells = CellComplex.from_boundaries([ends])
    nx.set_node_attributes(drawn, "vertex", "kind")
    hashes = nx.weisfeiler_lehman_subgraph_hashes(drawn, iterations=16, node_attr="kind")
    expected = np.array([hashes[vertex][-1] for vertex in range(12)])
    assert partition(cell_colors(cells)[0]) == partition(expected)


def test_a_vertex_in_a_filled_triangle_is_not_one_in_a_hollow_triangle():
    ends = np.kron(np.eye(2), np.array([[-1, -1, 0], [1, 0, -1], [0, 1, 1]])).astype(int)
    face = np.array([[1], [-1], [1], [0], [0], [0]])
    filled, hollow = np.split(cell_colors(CellComplex.from_boundaries([ends, face]))[0], 2)
    assert len(np.unique(filled)) == len(np.unique(hollow)) == 1
    assert filled[0] != hollow[0]
