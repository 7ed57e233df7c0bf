import sys
import warnings

import networkx as nx
import numpy as np
import pytest
import toponetx
import torch
from hypothesis import given, settings

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.polygons import boundary_walks, edge_ends
from cellformer.data.interop.networkx_graph import from_networkx, to_networkx
from cellformer.data.interop.pyg_data import from_pyg, to_pyg
from cellformer.data.interop.toponetx_complex import from_toponetx, to_toponetx
from strategies import NAMED, assert_same_graph, complexes, graphs

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of torch.jit
    from torch_geometric.data import Data
    from torch_geometric.utils import from_networkx as pyg_from_networkx


@given(graphs(features=True))
@settings(deadline=None, max_examples=30)
def test_networkx_there_and_back_keeps_everything_but_the_order_of_edges(graph):
    made = to_networkx(graph)
    kinds = ("discrete", "continuous", "signed")
    back = from_networkx(made, kinds, kinds, "position")
    order = np.lexsort((graph.edges[:, 1], graph.edges[:, 0]))
    again = np.lexsort((back.edges[:, 1], back.edges[:, 0]))
    assert back.num_vertices == graph.num_vertices == made.number_of_nodes()
    np.testing.assert_array_equal(back.edges[again], graph.edges[order])
    np.testing.assert_array_equal(back.vertex_features.continuous, graph.vertex_features.continuous)
    np.testing.assert_array_equal(back.vertex_features.discrete, graph.vertex_features.discrete)
    np.testing.assert_array_equal(back.positions, graph.positions)
    if graph.num_edges:
        np.testing.assert_array_equal(
            back.edge_features.discrete[again], graph.edge_features.discrete[order]
        )
        np.testing.assert_array_equal(
            back.edge_features.signed[again], graph.edge_features.signed[order]
        )


def test_networkx_nodes_are_numbered_in_their_own_order():
    source = nx.Graph()
    source.add_node("z", charge=1, mass=2.5)
    source.add_node("a", charge=0, mass=1.5)
    source.add_node(("b", 3), charge=4, mass=0.5)
    source.add_edge("a", "z", kind=2)
    source.add_edge(("b", 3), "z", kind=1)
    graph = from_networkx(source, ["mass", "charge"], ["kind"], name="g")
    assert graph.name == "g"
    assert graph.edges.tolist() == [[0, 1], [0, 2]]
    assert graph.vertex_features.discrete.tolist() == [[1], [0], [4]]
    assert graph.vertex_features.continuous.tolist() == [[2.5], [1.5], [0.5]]
    assert graph.edge_features.discrete.tolist() == [[2], [1]]


def test_networkx_loops_and_parallel_edges_are_counted():
    source = nx.MultiGraph([(0, 1), (1, 0), (1, 1), (1, 2)])
    graph = from_networkx(source)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert (graph.dropped_loops, graph.dropped_parallel) == (1, 1)
    assert from_networkx(nx.DiGraph([(0, 1), (1, 0)])).dropped_parallel == 1


@pytest.mark.parametrize("source", [nx.Graph(), nx.empty_graph(3)])
def test_networkx_graphs_may_be_empty(source):
    graph = from_networkx(source, ["x"] if not len(source) else [], ["w"], None)
    assert (graph.num_vertices, graph.num_edges) == (len(source), 0)


def test_missing_and_unequal_attributes_are_named():
    source = nx.path_graph(3)
    nx.set_node_attributes(source, {0: 1, 1: 2}, "charge")
    with pytest.raises(ValueError, match="graph 'g': node 2 has no attribute 'charge'"):
        from_networkx(source, ["charge"], name="g")
    with pytest.raises(ValueError, match="edge 0 has no attribute 'kind'"):
        from_networkx(source, edge_features=["kind"])
    with pytest.raises(ValueError, match="node 0 has no attribute 'xy'"):
        from_networkx(source, positions="xy")
    nx.set_node_attributes(source, {0: (1, 2), 1: (1, 2), 2: (1,)}, "color")
    with pytest.raises(ValueError, match=r"attribute 'color' must .* found shapes"):
        from_networkx(source, ["color"])
    with pytest.raises(ValueError, match="attribute 'color' must be as many coordinates"):
        from_networkx(source, positions="color")


@given(complexes(max_vertices=7, max_dim=2, features=True))
@settings(deadline=None, max_examples=30)
def test_toponetx_there_and_back_gives_the_same_cells(cells):
    made = to_toponetx(cells)
    kinds = ("discrete", "continuous", "signed")
    back = from_toponetx(made, kinds, kinds, kinds, "position")
    assert back.num_cells == (*cells.num_cells, 0, 0)[:3]
    ours = [frozenset(pair) for pair in edge_ends(cells).tolist()]
    theirs = [frozenset(pair) for pair in edge_ends(back).tolist()]
    edges = [theirs.index(pair) for pair in ours]
    assert sorted(edges) == list(range(len(ours)))
    np.testing.assert_array_equal(back.features[0].continuous, cells.features[0].continuous)
    np.testing.assert_array_equal(back.positions, cells.positions)
    if ours:
        np.testing.assert_array_equal(back.features[1].discrete[edges], cells.features[1].discrete)
        flows = [one.boundary(1) @ one.features[1].signed.astype(float) for one in (back, cells)]
        np.testing.assert_allclose(*flows, atol=1e-6)  # the same at every vertex
    if cells.dim == 2:
        walks = sorted(_turned(walk) for (walk,) in boundary_walks(cells))
        assert sorted(_turned(walk) for (walk,) in boundary_walks(back)) == walks


def _turned(walk):
    """The same oriented cycle, from its lowest vertex."""
    start = walk.index(min(walk))
    return walk[start:] + walk[:start]


@pytest.mark.parametrize("name", ["triangle", "house", "two triangles", "torus", "Petersen"])
def test_boundaries_from_toponetx_are_its_own_incidence_matrices(name):
    made = to_toponetx(NAMED[name]())
    back = from_toponetx(made)
    np.testing.assert_array_equal(back.boundary(1).toarray(), made.incidence_matrix(1).toarray())
    np.testing.assert_array_equal(back.boundary(2).toarray(), made.incidence_matrix(2).toarray())
    for ours, original in zip(back.boundaries, NAMED[name]().boundaries, strict=True):
        np.testing.assert_array_equal(ours.toarray(), original.toarray())


def test_toponetx_vertices_are_sorted_by_name():
    made = toponetx.CellComplex()
    made.add_cell(["c", "a", "b"], rank=2, area=0.5)
    made.add_node("0")
    cells = from_toponetx(made, face_features=["area"])
    assert cells.num_cells == (4, 3, 1)
    assert boundary_walks(cells) == [[[1, 2, 3]]]
    assert edge_ends(cells).tolist() == [[1, 2], [1, 3], [2, 3]]
    assert cells.features[2].continuous.tolist() == [[0.5]]


@pytest.mark.parametrize("name", ["vertex", "edgeless", "path", "hollow triangle"])
def test_toponetx_complexes_without_faces_are_ordinary(name):
    cells = from_toponetx(to_toponetx(NAMED[name]()))
    assert cells.num_cells == (*NAMED[name]().num_cells, 0, 0)[:3]


def test_what_toponetx_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="'tetrahedron' has cells of rank 3"):
        to_toponetx(examples.tetrahedron())
    digon = CellComplex.from_boundaries([[[-1, -1], [1, 1]]])
    with pytest.raises(ValueError, match="edge 1 joins the same vertices as another edge"):
        to_toponetx(digon)
    two = examples.two_triangles()
    ring = CellComplex.from_boundaries(
        [two.boundary(1), two.boundary(2).toarray().sum(axis=1, keepdims=True)]
    )
    with pytest.raises(ValueError, match="the boundary of 2-cell 0 is not one cycle"):
        to_toponetx(ring)


def test_what_toponetx_holds_and_a_complex_cannot_is_refused():
    made = toponetx.CellComplex(regular=False)
    made.add_cell([0, 1, 2, 1], rank=2)
    with pytest.raises(ValueError, match="polygon 0 has a vertex twice"):
        from_toponetx(made)
    mixed = toponetx.CellComplex()
    mixed.add_node(1)
    mixed.add_node("a")
    with pytest.raises(ValueError, match="cannot be sorted"):
        from_toponetx(mixed)


@given(graphs(features=True))
@settings(deadline=None, max_examples=30)
def test_pyg_there_and_back_keeps_everything(graph):
    data = to_pyg(graph)
    assert data.num_nodes == graph.num_vertices
    assert data.num_edges == 2 * graph.num_edges
    assert data.is_undirected()
    back = from_pyg(data)
    assert_same_graph(back, graph)
    assert (back.dropped_loops, back.dropped_parallel) == (0, 0)


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_one_kind_of_features_is_x_and_edge_attr(kind):
    values = {"discrete": np.array([[1], [2], [3]]), "continuous": np.array([[0.5], [1.5], [2.5]])}
    graph = Graph.from_edges([(0, 1), (1, 2)], 3, values[kind], values[kind][:2])
    data = to_pyg(graph)
    assert set(data.keys()) == {"edge_index", "num_nodes", "x", "edge_attr"}
    assert data.x.is_floating_point() == (kind == "continuous")
    assert_same_graph(from_pyg(data), graph)


def test_pyg_edges_in_both_directions_become_one_with_the_first_features():
    data = Data(
        edge_index=torch.tensor([[0, 1, 2, 1, 2], [1, 0, 1, 2, 2]]),
        edge_attr=torch.tensor([[0.5], [1.5], [2.5], [3.5], [4.5]]),
        x=torch.tensor([[1], [0], [3], [2]]),
        pos=torch.zeros(4, 3),
        y=torch.tensor([1.0]),
    )
    graph = from_pyg(data, "g")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_features.continuous.tolist() == [[0.5], [2.5]]
    assert graph.vertex_features.discrete.tolist() == [[1], [0], [3], [2]]
    assert graph.positions.shape == (4, 3)
    assert (graph.name, graph.dropped_loops, graph.dropped_parallel) == ("g", 1, 0)


def test_pyg_edges_in_one_direction_are_accepted():
    graph = from_pyg(Data(edge_index=torch.tensor([[2, 0], [1, 1]]), num_nodes=3))
    assert graph.edges.tolist() == [[1, 2], [0, 1]]
    assert graph.dropped_parallel == 0


def test_second_copies_of_pyg_edges_are_counted():
    pairs = [(0, 1), (1, 0), (0, 1), (1, 0), (2, 1), (2, 1), (2, 1), (1, 2)]
    graph = from_pyg(Data(edge_index=torch.tensor(pairs).T, num_nodes=3))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.dropped_parallel == 1 + 2


@pytest.mark.parametrize(
    ("data", "vertices"),
    [
        (Data(x=torch.zeros(3, 0)), 3),
        (Data(num_nodes=1), 1),
        (Data(pos=torch.zeros(2, 2)), 2),
        (Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=4), 4),
        (Data(edge_index=torch.tensor([[0], [3]])), 4),
        (Data(edge_index=torch.tensor([[0], [1]]), num_nodes=5), 5),
    ],
)
def test_the_number_of_pyg_nodes_is_found(data, vertices):
    assert from_pyg(data).num_vertices == vertices


def test_pyg_graphs_of_other_sources_are_read():
    source = nx.petersen_graph()
    graph = from_pyg(pyg_from_networkx(source))
    expected = from_networkx(source)
    assert sorted(graph.edges.tolist()) == sorted(expected.edges.tolist())


def test_wrong_pyg_data_is_named():
    with pytest.raises(ValueError, match="graph 'g': set num_nodes"):
        from_pyg(Data(), "g")
    wrong = Data(edge_index=torch.tensor([[0], [1]]), edge_attr=torch.zeros(3, 1), num_nodes=2)
    with pytest.raises(ValueError, match="graph 'g': edge_attr has 3 rows for 1 cells"):
        from_pyg(wrong, "g")


@pytest.mark.parametrize(
    ("module", "convert", "extra"),
    [
        ("toponetx", lambda: to_toponetx(examples.house()), r"cellformer\[toponetx\]"),
        ("torch_geometric.data", lambda: to_pyg(Graph.from_edges([(0, 1)])), r"cellformer\[pyg\]"),
    ],
)
def test_a_missing_extra_says_how_to_install_it(module, convert, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=extra):
        convert()


def test_no_features_are_no_attributes():
    graph = Graph.from_edges([(0, 1)])
    assert set(to_pyg(graph).keys()) == {"num_nodes", "edge_index"}
    assert dict(to_networkx(graph).nodes(data=True)) == {0: {}, 1: {}}
