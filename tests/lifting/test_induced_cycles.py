import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.polygons import boundary_walks
from cellformer.complexes.relabel import permute_graph
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import LiftingLimitError
from strategies import assert_same_complex, graphs


def lengths(cells):
    return np.diff(cells.boundary(2).indptr).tolist()


@settings(deadline=None, max_examples=50)
@given(graph=graphs(max_vertices=10), max_length=st.integers(3, 11))
def test_the_faces_are_the_chordless_cycles_each_once(graph, max_length, vertex_sets, to_networkx):
    expected = nx.chordless_cycles(to_networkx(graph), length_bound=max_length)
    found = vertex_sets(InducedCycles(max_length)(graph))
    assert sorted(found) == sorted(tuple(sorted(cycle)) for cycle in expected)


@settings(deadline=None, max_examples=50)
@given(data=st.data(), graph=graphs(max_vertices=10))
def test_faces_do_not_depend_on_the_numbers_of_vertices_and_edges(data, graph, vertex_sets):
    vertices = np.array(data.draw(st.permutations(range(graph.num_vertices))), np.int64)
    edges = np.array(data.draw(st.permutations(range(graph.num_edges))), np.int64)
    relabelled = InducedCycles()(permute_graph(graph, vertices, edges))
    assert sorted(vertex_sets(relabelled, names=vertices)) == sorted(
        vertex_sets(InducedCycles()(graph))
    )


@pytest.mark.parametrize("seed", range(5))
def test_faces_come_by_length_and_then_by_their_vertices(seed, from_networkx):
    cells = InducedCycles(7)(from_networkx(nx.gnm_random_graph(15, 30, seed=seed)))
    keys = []
    for (walk,) in boundary_walks(cells):
        at = walk.index(min(walk))
        forward = walk[at:] + walk[:at]
        keys.append((len(walk), min(forward, [forward[0], *forward[:0:-1]])))
    assert keys
    assert keys == sorted(keys)


def test_the_grid_has_the_same_faces_under_200_labelings(from_networkx, vertex_sets):
    grid = from_networkx(nx.grid_2d_graph(3, 3))
    expected = sorted(vertex_sets(InducedCycles()(grid)))
    assert sorted(map(len, expected)) == [4, 4, 4, 4, 8]
    rng = np.random.default_rng(0)
    for _ in range(200):
        vertices = rng.permutation(9)
        relabelled = InducedCycles()(permute_graph(grid, vertices, rng.permutation(12)))
        assert sorted(vertex_sets(relabelled, names=vertices)) == expected


@pytest.mark.parametrize(
    ("network", "max_length", "expected"),
    [
        (nx.petersen_graph(), 8, {5: 12, 6: 10}),
        (nx.complete_graph(12), 12, {3: 220}),
        (nx.complete_bipartite_graph(3, 4), 8, {4: 18}),
        (nx.cycle_graph(30), 30, {30: 1}),
        (nx.cycle_graph(30), 29, {}),
        (nx.wheel_graph(7), 8, {3: 6, 6: 1}),
        (nx.disjoint_union(nx.cycle_graph(3), nx.path_graph(4)), 8, {3: 1}),
        (nx.hypercube_graph(3), 8, {4: 6, 6: 4}),
    ],
    ids=str,
)
def test_known_graphs(network, max_length, expected, from_networkx):
    cells = InducedCycles(max_length)(from_networkx(network))
    counts = {length: lengths(cells).count(length) for length in set(lengths(cells))}
    assert counts == expected
    CellComplex.from_boundaries(cells.boundaries)  # every face is a closed walk along edges


@pytest.mark.parametrize("network", [nx.petersen_graph(), nx.dodecahedral_graph()], ids=str)
def test_consecutive_vertices_of_a_face_are_joined(network, from_networkx):
    for (walk,) in boundary_walks(InducedCycles(9)(from_networkx(network))):
        assert all(network.has_edge(u, v) for u, v in zip(walk, walk[1:] + walk[:1], strict=True))


DENSE = nx.gnm_random_graph(60, 150, seed=1)


def test_over_the_limit_on_cells_the_error_names_the_graph_and_the_way_out(from_networkx):
    with pytest.raises(LiftingLimitError) as caught:
        InducedCycles(18)(from_networkx(DENSE, "dense one"))
    message = str(caught.value)
    assert "graph 'dense one' (60 vertices, 150 edges): more than 100000 cycles" in message
    assert "length 3 to 18" in message
    assert "over_limit='truncate'" in message


@pytest.mark.parametrize("network", [DENSE, nx.complete_bipartite_graph(30, 30)], ids=str)
def test_over_the_limit_on_steps_the_search_ends(network, from_networkx):
    with pytest.raises(LiftingLimitError, match="more than 1000 steps"):
        InducedCycles(18, max_steps=1000)(from_networkx(network))


@pytest.mark.parametrize("limits", [{"max_cells": 500}, {"max_steps": 20_000}], ids=str)
def test_truncation_keeps_whole_lengths(limits, from_networkx):
    graph = from_networkx(DENSE)
    cells = InducedCycles(18, over_limit="truncate", **limits)(graph)
    kept = max(lengths(cells))
    assert 3 < kept < 18
    assert_same_complex(cells, InducedCycles(kept)(graph))
    with pytest.raises(LiftingLimitError):
        InducedCycles(kept + 1, **limits)(graph)


def test_truncation_by_cells_does_not_depend_on_the_labels(from_networkx, vertex_sets):
    graph = from_networkx(DENSE)
    lifting = InducedCycles(18, max_cells=1000, over_limit="truncate")
    expected = sorted(vertex_sets(lifting(graph)))
    vertices = np.random.default_rng(0).permutation(60)
    found = vertex_sets(lifting(permute_graph(graph, vertices)), names=vertices)
    assert sorted(found) == expected


def test_the_limit_on_cells_is_exact(from_networkx):
    graph = from_networkx(nx.complete_graph(6))
    assert InducedCycles(max_cells=20)(graph).num_cells[2] == 20
    with pytest.raises(LiftingLimitError, match="more than 19 cycles"):
        InducedCycles(max_cells=19)(graph)
    nothing = InducedCycles(max_cells=19, over_limit="truncate")(graph)
    assert nothing.num_cells == (6, 15, 0)


def test_a_length_beyond_the_graph_costs_nothing():
    triangle = Graph.from_edges([(0, 1), (1, 2), (0, 2)])
    assert InducedCycles(10**9)(triangle).num_cells == (3, 3, 1)


def test_real_point_cloud_graphs_stay_within_the_limits(data):
    with np.load(data / "gcb" / "hard_regenerated_seed0_flat.npz") as arrays:
        vertices, edges = int(arrays["num_nodes"][0]), int(arrays["num_edges"][0])
        graph = Graph.from_edges(arrays["edge_index"][:, :edges].T.astype(np.int64), vertices)
    cells = InducedCycles(12)(graph)
    assert vertices < cells.num_cells[2] < 1000
