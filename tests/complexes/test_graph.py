import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.examples import triangle
from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.complexes.relabel import flip, permute_graph
from cellformer.lifting.skeleton import Skeleton
from strategies import assert_same_graph, graphs


def test_edges_keep_their_order_and_run_from_low_to_high():
    graph = Graph.from_edges([(3, 1), (0, 2), (1, 0)])
    assert graph.num_vertices == 4
    assert graph.edges.tolist() == [[1, 3], [0, 2], [0, 1]]


def test_self_loops_and_parallel_edges_are_dropped_and_counted():
    graph = Graph.from_edges([(0, 0), (0, 1), (1, 0), (2, 2), (1, 2), (0, 1)])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert (graph.dropped_loops, graph.dropped_parallel) == (2, 2)


def test_features_follow_the_first_of_parallel_edges():
    graph = Graph.from_edges([(1, 1), (2, 1), (1, 2), (0, 1)], edge_features=np.array([9, 5, 6, 7]))
    assert graph.edges.tolist() == [[1, 2], [0, 1]]
    assert graph.edge_features.discrete.tolist() == [[5], [7]]


@pytest.mark.parametrize("edges", [[], np.zeros((0, 2), np.int64), np.zeros((2, 0), np.int32)])
def test_a_graph_may_have_no_edges(edges):
    graph = Graph.from_edges(edges, 3, vertex_features=[1.0, 2.0, 3.0])
    assert (graph.num_vertices, graph.num_edges) == (3, 0)
    assert graph.edges.shape == (0, 2)
    assert graph.vertex_features.continuous.shape == (3, 1)


def test_nothing_at_all_is_the_empty_graph():
    assert Graph.from_edges([]).num_vertices == 0


def test_isolated_vertices_are_kept():
    assert Graph.from_edges([(0, 1)], 5).num_vertices == 5


def test_the_given_array_is_not_changed():
    edges = np.array([(3, 1), (2, 0)])
    Graph.from_edges(edges)
    assert edges.tolist() == [[3, 1], [2, 0]]


def test_keys_of_a_million_vertices_do_not_overflow():
    count = 1_000_000
    edges = np.array([(count - 1, count - 2), (0, 1), (count - 2, count - 1)], np.int32)
    graph = Graph.from_edges(edges, count)
    assert graph.edges.tolist() == [[count - 2, count - 1], [0, 1]]


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int32, np.uint64])
def test_any_integer_type_is_accepted(kind):
    graph = Graph.from_edges(np.array([(200, 100), (100, 50)], kind), 201)
    assert graph.edges.tolist() == [[100, 200], [50, 100]]


@pytest.mark.parametrize(
    ("edges", "count", "message"),
    [
        ([(0, 1), (1, 5)], 3, r"graph 'g': edge 1 \(1, 5\) names a vertex outside 0..2"),
        ([(0, -1)], 3, r"edge 0 \(0, -1\)"),
        ([(0, 1, 2)], None, "rows of two vertex numbers"),
        ([(0.0, 1.0)], None, "rows of two vertex numbers"),
        ([], -1, "negative"),
    ],
)
def test_wrong_edges_are_named(edges, count, message):
    with pytest.raises(ValueError, match=message):
        Graph.from_edges(edges, count, name="g")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vertex_features": [1, 2]}, "graph 'g': vertex_features has 2 rows for 3 cells"),
        ({"edge_features": [1]}, "graph 'g': edge_features has 1 rows for 2 cells"),
        ({"positions": [(0.0, 0.0)]}, "positions must have one row for each of the 3 vertices"),
        ({"positions": [0.0, 1.0, 2.0]}, "positions must have one row"),
        ({"positions": [(0, 0), (0, np.nan), (1, 1)]}, "position of vertex 1 is not finite"),
    ],
)
def test_wrong_features_and_positions_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        Graph.from_edges([(0, 1), (1, 2)], name="g", **wrong)


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_a_relabeled_graph_joins_the_same_vertices(data):
    graph = data.draw(graphs(features=True))
    vertices = np.array(data.draw(st.permutations(range(graph.num_vertices))), np.int64)
    edges = np.array(data.draw(st.permutations(range(graph.num_edges))), np.int64)
    moved = permute_graph(graph, vertices, edges)
    expected = [set(pair) for pair in graph.edges[edges].tolist()]
    assert [set(pair) for pair in vertices[moved.edges].tolist()] == expected
    assert (moved.edges[:, 0] < moved.edges[:, 1]).all()
    assert_same_graph(permute_graph(moved, np.argsort(vertices), np.argsort(edges)), graph)


def test_a_wrong_permutation_is_refused():
    graph = Graph.from_edges([(0, 1)])
    with pytest.raises(ValueError, match="vertices is not a permutation"):
        permute_graph(graph, np.array([0, 0]))


def test_a_molecule_has_its_atoms_and_bonds():
    graph = Graph.from_smiles("C=O")
    assert graph.name == "C=O"
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.vertex_features.discrete[:, 0].tolist() == [5, 7]
    assert graph.edge_features.discrete[:, 0].tolist() == [1]
    assert isinstance(graph.vertex_features, Features)


def test_a_flow_is_along_the_edge_from_the_lower_to_the_higher_vertex():
    flow = Features.empty(4).with_signed([1.0, 2.0, 3.0, 4.0])
    graph = Graph.from_edges([(0, 1), (2, 1), (1, 1), (1, 2)], edge_features=flow)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_features.signed.tolist() == [[1], [-2]]


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_a_flow_keeps_its_divergence_whatever_the_vertices_are_called(data):
    graph = data.draw(graphs(features=True))
    order = np.array(data.draw(st.permutations(range(graph.num_vertices))))
    moved = permute_graph(graph, order)
    ours = [
        Skeleton()(one).boundary(1) @ one.edge_features.signed.astype(np.float64)
        for one in (graph, moved)
    ]
    np.testing.assert_allclose(ours[1], ours[0][order], atol=1e-12)


def test_the_skeleton_of_a_complex_turns_flows_with_its_edges():
    cells = triangle()
    flow = [None, Features.empty(3).with_signed([1, 2, 3]), None]
    cells = CellComplex.from_boundaries(cells.boundaries, features=flow)
    turned = flip(cells, [None, np.array([-1, 1, -1]), None])
    assert turned.features[1].signed[:, 0].tolist() == [-1, 2, -3]
    skeleton = Graph.of_complex(turned)
    np.testing.assert_array_equal(skeleton.edge_features.signed, cells.features[1].signed)
    assert skeleton.cells is turned
