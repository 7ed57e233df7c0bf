import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial import Delaunay

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.polygons import edge_boundary, edge_ends
from cellformer.drawing.crossings import crossings
from cellformer.drawing.layout import LARGE, layout
from cellformer.lifting.lift import lift
from cellformer.lifting.rings import Rings
from strategies import NAMED, complexes


def skeleton(graph):
    graph = nx.convert_node_labels_to_integers(graph)
    edges = np.array(sorted(sorted(edge) for edge in graph.edges), np.int64).reshape(-1, 2)
    return CellComplex.from_boundaries([edge_boundary(len(graph), edges)])


@given(complexes(max_dim=2))
@settings(deadline=None, max_examples=20)
def test_every_vertex_has_a_place_of_its_own_and_the_same_one_again(cells):
    points = layout(cells)
    assert points.shape == (cells.num_vertices, 2)
    assert np.isfinite(points).all()
    for one, other in itertools.combinations(points, 2):
        assert np.linalg.norm(one - other) > 0.01
    np.testing.assert_array_equal(layout(cells), points)


@pytest.mark.parametrize("name", ["path", "house", "two triangles", "grid", "torus", "Petersen"])
def test_edges_are_about_one_long(name):
    cells = replace(NAMED[name](), positions=None)
    ends = edge_ends(cells)
    points = layout(cells)
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    assert np.median(lengths) == pytest.approx(1, abs=0.1)


def test_a_path_is_drawn_straight_and_wide():
    points = layout(examples.path(6))
    assert np.ptp(points[:, 0]) > 4.5
    assert np.ptp(points[:, 1]) < 0.3


def test_components_do_not_overlap():
    graph = nx.disjoint_union_all(
        [nx.cycle_graph(9), nx.star_graph(6), nx.empty_graph(4), nx.path_graph(5)]
    )
    points = layout(skeleton(graph))
    boxes = [
        (points[list(part)].min(axis=0), points[list(part)].max(axis=0))
        for part in nx.connected_components(graph)
    ]
    for (low, high), (other_low, other_high) in itertools.combinations(boxes, 2):
        apart = np.maximum(low - other_high, other_low - high).max()
        assert apart > 0.9


@pytest.mark.parametrize("graph", [nx.star_graph(101), nx.complete_graph(12), nx.path_graph(2)])
def test_vertices_that_are_alike_do_not_coincide(graph):
    points = layout(skeleton(graph))
    closest = min(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2))
    assert closest > 0.005


def test_a_large_component_is_laid_out_without_folds():
    side = int(np.sqrt(LARGE)) + 3
    cells = replace(examples.grid(side, side), positions=None)
    points = layout(cells)
    ends = edge_ends(cells)
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    assert lengths.max() < 4
    assert np.ptp(points, axis=0).min() > side / 2
    np.testing.assert_array_equal(layout(cells), points)


@pytest.mark.parametrize("vertices", [0, 1, 7])
def test_vertices_without_edges_are_laid_out(vertices):
    points = layout(examples.edgeless(vertices))
    assert points.shape == (vertices, 2)
    assert len(np.unique(points, axis=0)) == vertices


def delaunay(count, seed, kept):
    """A random planar graph, with a share of the edges of a triangulation."""
    random = np.random.default_rng(seed)
    corners = Delaunay(random.random((count, 2))).simplices
    pairs = {tuple(sorted(pair)) for one in corners for pair in itertools.combinations(one, 2)}
    graph = nx.empty_graph(count)
    graph.add_edges_from(pair for pair in sorted(pairs) if random.random() < kept)
    return graph


PLANAR = {
    "cube": nx.hypercube_graph(3),
    "dodecahedron": nx.dodecahedral_graph(),
    "icosahedron": nx.icosahedral_graph(),
    "ladder": nx.circular_ladder_graph(12),
    "grid": nx.grid_2d_graph(5, 8),
    "K(2, 9)": nx.complete_bipartite_graph(2, 9),
    "tree": nx.random_labeled_tree(50, seed=1),
    "cactus": nx.windmill_graph(4, 4),
    "sparse": delaunay(20, 1, 0.6),
    "triangulation": delaunay(16, 0, 1.0),
}


@pytest.mark.parametrize("name", PLANAR)
def test_no_edges_of_a_planar_graph_cross(name):
    cells = skeleton(PLANAR[name])
    assert nx.check_planarity(PLANAR[name])[0]
    points = layout(cells)
    assert crossings(points, edge_ends(cells)) == 0
    for one, other in itertools.combinations(points, 2):
        assert np.linalg.norm(one - other) > 0.02


def test_edges_cross_where_they_must():
    cells = skeleton(nx.complete_graph(5))
    assert crossings(layout(cells), edge_ends(cells)) >= 1


@pytest.mark.parametrize(
    ("points", "number"),
    [
        ([(0, 0), (1, 1), (0, 1), (1, 0)], 1),
        ([(0, 0), (1, 0), (0, 1), (1, 1)], 0),
        ([(0, 0), (1, 0), (2, 0), (3, 0)], 0),
        ([(0, 0), (2, 0), (1, 0), (3, 0)], 1),
        ([(0, 0), (2, 0), (1, 0), (1, 1)], 1),
    ],
)
def test_crossings_are_counted(points, number):
    assert crossings(np.array(points, float), np.array([(0, 1), (2, 3)])) == number


@pytest.mark.parametrize(
    "smiles",
    ["c1ccc(cc1)-c1ccc(cc1)C(=O)NCC(C)c1ccccc1S(=O)(=O)C", "C1CCC2(CC1)OCCO2",
     "O=C(Nc1ccc2ccccc2c1)C1CCN(CC1)Cc1ccccn1"],
)  # fmt: skip
def test_rings_of_molecules_lie_beside_each_other_with_edges_of_like_length(smiles):
    cells = lift(Graph.from_smiles(smiles), Rings())
    points, ends = layout(cells), edge_ends(cells)
    assert crossings(points, ends) == 0
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    assert lengths.min() > 0.7
    assert lengths.max() < 1.4
    for ring in range(cells.num_cells[2]):
        corners = np.unique(ends[cells.boundary(2)[:, [ring]].nonzero()[0]])
        others = np.setdiff1d(np.arange(cells.num_vertices), corners)
        center = points[corners].mean(axis=0)
        radius = np.linalg.norm(points[corners] - center, axis=1).min()
        assert (np.linalg.norm(points[others] - center, axis=1) > radius).all()


def test_a_graph_that_cannot_lie_outside_is_untangled_all_the_same():
    cells = skeleton(nx.dodecahedral_graph())
    points = layout(cells)
    assert crossings(points, edge_ends(cells)) == 0
