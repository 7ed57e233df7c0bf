import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.graph import Graph
from cellformer.lifting.skeleton import Skeleton, attach_cycles, edge_numbers
from strategies import graphs

# 0 --- 1
# |   / |    edges in this order: 0 (1,2)  1 (0,1)  2 (0,2)  3 (1,3)  4 (2,3)
# |  /  |
# 2 --- 3
DIAMOND = Graph.from_edges([(1, 2), (0, 1), (2, 0), (3, 1), (2, 3)])


def test_the_skeleton_has_vertices_and_edges_only():
    cells = Skeleton()(DIAMOND)
    assert cells.dim == 1
    assert cells.num_cells == (4, 5)
    np.testing.assert_array_equal(
        cells.boundary(1).toarray(),
        [[0, -1, -1, 0, 0], [-1, 1, 0, -1, 0], [1, 0, 1, 0, -1], [0, 0, 0, 1, 1]],
    )


def test_a_vertex_alone_is_a_skeleton():
    assert Skeleton()(Graph.from_edges([], 1)).num_cells == (1, 0)


def test_faces_take_their_signs_from_the_traversal_along_their_first_edge():
    # Along edge 0 (1 -> 2), then 2 -> 0 against edge 2 and 0 -> 1 along edge 1.
    cells = attach_cycles(DIAMOND, np.array([0, 2, 1, 3, 1, 2]), np.array([0, 3, 6]))
    np.testing.assert_array_equal(
        cells.boundary(2).toarray(), [[1, 1], [1, 0], [-1, 0], [0, -1], [0, 1]]
    )


@settings(deadline=None, max_examples=30)
@given(length=st.integers(3, 12), shift=st.integers(0, 11), backward=st.booleans())
def test_where_and_which_way_a_cycle_is_written_makes_no_difference(length, shift, backward):
    around = np.arange(length)
    edges = np.column_stack([around, np.roll(around, -1)])
    graph = Graph.from_edges(np.random.default_rng(length).permutation(edges))
    written = np.roll(around[::-1] if backward else around, shift)
    one = attach_cycles(graph, around, np.array([0, length]))
    other = attach_cycles(graph, written, np.array([0, length]))
    np.testing.assert_array_equal(one.boundary(2).toarray(), other.boundary(2).toarray())


@pytest.mark.parametrize("length", [30, 5000])
def test_a_long_cycle_is_one_face(length):
    around = np.arange(length)
    graph = Graph.from_edges(np.column_stack([around, np.roll(around, -1)]))
    cells = attach_cycles(graph, around, np.array([0, length]))
    assert cells.num_cells == (length, length, 1)
    assert not (cells.boundary(1).astype(int) @ cells.boundary(2).astype(int)).count_nonzero()


@pytest.mark.parametrize(
    ("walk", "message"),
    [
        (
            [0, 3, 1],
            r"\(4 vertices, 5 edges\): face 1 goes from vertex 0 to 3, which is not an edge",
        ),
        ([0, 1, 4], "face 1 goes from vertex 1 to 4"),
        ([-1, 1, 2], "face 1 goes from vertex -1 to 1"),
        ([0, 1], r"face 1 takes the edge \(0, 1\) twice"),
        ([0, 1, 3, 1], "face 1 takes the edge"),
    ],
)
def test_a_walk_that_is_no_cycle_is_named(walk, message):
    vertices = np.array([0, 1, 2, *walk])
    with pytest.raises(ValueError, match=message):
        attach_cycles(DIAMOND, vertices, np.array([0, 3, 3 + len(walk)]))


@settings(deadline=None, max_examples=30)
@given(graph=graphs(max_vertices=7))
def test_edge_numbers_agree_with_a_search(graph):
    here, there = (grid.ravel() for grid in np.indices((graph.num_vertices + 2,) * 2) - 1)
    numbers = {tuple(edge): i for i, edge in enumerate(graph.edges.tolist())}
    expected = [
        numbers.get((min(u, v), max(u, v)), -1)
        for u, v in zip(here.tolist(), there.tolist(), strict=True)
    ]
    assert edge_numbers(graph.num_vertices, graph.edges, here, there).tolist() == expected
