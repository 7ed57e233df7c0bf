import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from cellformer.complexes.graph import Graph
from cellformer.complexes.polygons import boundary_walks, edge_ends
from cellformer.lifting.lift import LiftingLimitError
from cellformer.lifting.point_cloud import PointNeighbors
from cellformer.lifting.point_features import (
    EDGE_FEATURES,
    POINT_FEATURES,
    TRIANGLE_FEATURES,
    with_point_features,
)


def cloud(points, name="cloud"):
    points = np.asarray(points, float)
    return Graph.from_edges(np.zeros((0, 2), int), len(points), positions=points, name=name)


def grid(side):
    return np.stack(np.meshgrid(*[np.arange(side, dtype=float)] * 3), axis=-1).reshape(-1, 3)


def cells_as_points(cells):
    """Edges and triangles as sets of coordinates, which no numbering changes."""
    points = np.round(cells.positions, 6)
    edges = {frozenset(map(tuple, points[pair])) for pair in edge_ends(cells)}
    triangles = {frozenset(map(tuple, points[walk[0]])) for walk in boundary_walks(cells)}
    return edges, triangles


def moved(points, rng):
    turned, _ = np.linalg.qr(rng.normal(size=(points.shape[1],) * 2))
    return points @ turned + rng.normal(size=points.shape[1])


@pytest.mark.parametrize("how", [PointNeighbors(radius=0.7), PointNeighbors(neighbors=3)])
@given(seed=st.integers(0, 10**6), count=st.integers(1, 25), space=st.integers(1, 4))
@settings(deadline=None, max_examples=20)
def test_edges_and_triangles_are_those_of_all_pairs_and_triples(how, seed, count, space):
    points = np.random.default_rng(seed).uniform(size=(count, space))
    apart = cdist(points, points)
    if how.radius is not None:
        near = apart <= how.radius
    else:
        reach = np.sort(apart, axis=1)[:, min(how.neighbors, count - 1)]
        near = (apart <= reach[:, None]) | (apart <= reach[None, :])
    np.fill_diagonal(near, False)
    cells = how(cloud(points))
    assert {tuple(pair) for pair in edge_ends(cells).tolist()} == set(
        zip(*np.nonzero(np.triu(near)), strict=True)
    )
    triangles = np.trace(near.astype(int) @ near @ near) // 6
    assert cells.num_cells == (count, near.sum() // 2, triangles)


@pytest.mark.parametrize("points", [grid(3), np.random.default_rng(1).normal(size=(40, 3)),
                                    np.zeros((5, 3)), grid(4)[:, :2]])  # fmt: skip
@pytest.mark.parametrize("how", [PointNeighbors(), PointNeighbors(radius=1.0)])
def test_order_and_motion_change_neither_cells_nor_features(points, how):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(points))
    cells = with_point_features(how(cloud(points)), how.radius)
    shuffled = how(cloud(points[order]))
    if len(np.unique(points, axis=0)) == len(points):
        assert cells_as_points(shuffled) == cells_as_points(cells)
    turned = with_point_features(how(cloud(moved(points[order], rng))), how.radius)
    assert turned.num_cells == cells.num_cells
    np.testing.assert_allclose(
        turned.features[0].continuous, cells.features[0].continuous[order], atol=1e-4
    )
    for rank in (1, 2):
        here, there = (np.sort(one.features[rank].continuous, axis=0) for one in (turned, cells))
        np.testing.assert_allclose(here, there, atol=1e-4)


def test_size_counts_with_a_radius_only():
    points = np.random.default_rng(3).normal(size=(30, 3))
    for how, same in ((PointNeighbors(), True), (PointNeighbors(radius=1.0), False)):
        small, large = (
            with_point_features(how(cloud(points * scale)), how.radius) for scale in (1, 3)
        )
        assert (small.num_cells == large.num_cells) == same
        if same:
            for one, other in zip(small.features, large.features, strict=True):
                np.testing.assert_allclose(one.continuous, other.continuous, atol=1e-5)


def test_features_say_what_they_are_called():
    line = with_point_features(
        PointNeighbors(neighbors=2)(cloud(np.arange(5)[:, None] * [1, 2, 2]))
    )
    assert [f.continuous.shape[1] for f in line.features] == [
        len(POINT_FEATURES), len(EDGE_FEATURES), len(TRIANGLE_FEATURES)]  # fmt: skip
    np.testing.assert_allclose(line.features[0].continuous[:, 3:], [[1, 0]] * 5, atol=1e-6)
    triangle = [[0, 0], [1, 0], [0.5, np.sqrt(0.75)]]
    equal = with_point_features(PointNeighbors(radius=1.0)(cloud(triangle)), 1.0)
    np.testing.assert_allclose(equal.features[1].continuous, [[1, 1]] * 3)
    np.testing.assert_allclose(equal.features[2].continuous, [[np.sqrt(3) / 4, 1]], rtol=1e-6)
    flat = np.random.default_rng(0).uniform(size=(50, 2)) @ np.array([[1, 0, 0], [0, 1.0, 0]])
    elongation, flatness = with_point_features(
        PointNeighbors(8)(cloud(flat))
    ).features[0].continuous[:, 3:].T  # fmt: skip
    np.testing.assert_allclose(elongation + flatness, 1, atol=1e-5)  # nothing out of the plane


def test_a_cloud_over_the_limit_is_refused_before_it_fills_the_memory():
    many = np.random.default_rng(0).uniform(size=(2000, 3))
    with pytest.raises(LiftingLimitError, match=r"'dense' \(2000 points\): more than 1000 edges"):
        PointNeighbors(radius=100.0, max_cells=1000)(cloud(many[:2000], "dense"))
    with pytest.raises(LiftingLimitError, match="more than 300 cliques"):
        PointNeighbors(radius=100.0, max_cells=300)(cloud(many[:20]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"neighbors": 0}, "neighbors"), ({"radius": 0.0}, "radius"), ({"radius": np.inf}, "radius"),
     ({"max_cells": 0}, "max_cells")],
)  # fmt: skip
def test_choices_out_of_range_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        PointNeighbors(**fields)


def test_a_graph_without_positions_is_refused():
    with pytest.raises(ValueError, match="has no positions"):
        PointNeighbors()(Graph.from_edges([(0, 1)], name="plain"))
