import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.relabel import permute_graph
from cellformer.lifting.cliques import Cliques
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import LiftingLimitError
from strategies import assert_same_complex, graphs


@settings(deadline=None, max_examples=30)
@given(graph=graphs(max_vertices=9), max_dim=st.integers(1, 5))
def test_the_cells_are_the_cliques_in_lexicographic_order(graph, max_dim, vertex_sets, to_networkx):
    cells = Cliques(max_dim)(graph)
    assert cells.dim == max_dim
    every = [tuple(sorted(c)) for c in nx.enumerate_all_cliques(to_networkx(graph))]
    for rank in range(2, max_dim + 1):
        assert vertex_sets(cells, rank) == sorted(c for c in every if len(c) == rank + 1)


@settings(deadline=None, max_examples=30)
@given(graph=graphs(max_vertices=8))
def test_boundaries_are_the_simplicial_ones_up_to_turning_triangles(graph, vertex_sets):
    cells = Cliques(4)(graph)
    CellComplex.from_boundaries(cells.boundaries, cells.num_vertices)
    turned = np.ones(graph.num_edges, np.int64)
    for rank in range(2, 5):
        number = {simplex: i for i, simplex in enumerate(vertex_sets(cells, rank - 1))}
        expected = np.zeros(cells.boundary(rank).shape, np.int64)
        for j, simplex in enumerate(vertex_sets(cells, rank)):
            for i, face in enumerate(itertools.combinations(simplex, rank)):
                left_out = rank - i  # combinations leave out the last vertex first
                expected[number[face], j] = (-1) ** left_out
        expected *= turned[:, None]
        turned = np.ones(expected.shape[1], np.int64)
        if rank == 2:
            turned = np.array([column[column != 0][0] for column in expected.T], np.int64)
        np.testing.assert_array_equal(cells.boundary(rank).toarray(), expected * turned)


@settings(deadline=None, max_examples=30)
@given(data=st.data(), graph=graphs(max_vertices=9))
def test_cells_do_not_depend_on_the_numbers_of_vertices_and_edges(data, graph, vertex_sets):
    vertices = np.array(data.draw(st.permutations(range(graph.num_vertices))), np.int64)
    edges = np.array(data.draw(st.permutations(range(graph.num_edges))), np.int64)
    relabelled = Cliques(3)(permute_graph(graph, vertices, edges))
    for rank in (2, 3):
        assert sorted(vertex_sets(relabelled, rank, names=vertices)) == vertex_sets(
            Cliques(3)(graph), rank
        )


@settings(deadline=None, max_examples=30)
@given(graph=graphs(max_vertices=9))
def test_triangles_are_those_of_the_induced_cycles(graph):
    assert_same_complex(Cliques(2)(graph), InducedCycles(3)(graph))


def test_a_complete_graph_is_a_simplex(from_networkx):
    cells = Cliques(6)(from_networkx(nx.complete_graph(7)))
    assert cells.num_cells == (7, 21, 35, 35, 21, 7, 1)


def test_the_octahedron_is_a_sphere(from_networkx):
    cells = Cliques(3)(from_networkx(nx.octahedral_graph()))
    assert cells.num_cells == (6, 12, 8, 0)


def test_max_dim_1_is_the_graph():
    cells = Cliques(1)(Graph.from_edges([(0, 1), (1, 2), (0, 2)]))
    assert cells.num_cells == (3, 3)


def test_over_the_limit_on_cells_the_error_names_the_graph(from_networkx):
    with pytest.raises(
        LiftingLimitError, match=r"graph 'K30' \(30 vertices.*1000 cliques.*up to rank 2"
    ):
        Cliques(max_cells=1000)(from_networkx(nx.complete_graph(30), "K30"))


def test_over_the_limit_on_steps_the_search_ends(from_networkx):
    with pytest.raises(LiftingLimitError, match="more than 5000 candidates"):
        Cliques(29, max_steps=5000)(from_networkx(nx.complete_graph(30)))


def test_truncation_keeps_whole_ranks(from_networkx):
    graph = from_networkx(nx.complete_graph(10))
    cells = Cliques(5, max_cells=120 + 210, over_limit="truncate")(graph)
    assert cells.num_cells == (10, 45, 120, 210, 0, 0)
    nothing = Cliques(3, max_cells=119, over_limit="truncate")(graph)
    assert nothing.num_cells == (10, 45, 0, 0)


def test_a_star_of_many_leaves_is_cheap(from_networkx):
    graph = from_networkx(nx.star_graph(20_000))
    assert Cliques(max_steps=20_000)(graph).num_cells == (20_001, 20_000, 0)
