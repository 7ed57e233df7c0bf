import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import (
    boundary_walks,
    edge_boundary,
    edge_ends,
    is_polygon,
    polygon_boundary,
)
from cellformer.complexes.relabel import flip, permute
from strategies import complexes, orders, orientations

SQUARE = np.array([(0, 1), (0, 3), (1, 2), (2, 3), (0, 2)])


def test_a_polygon_is_oriented_as_listed():
    boundary = polygon_boundary(4, SQUARE, [(0, 1, 2, 3), (2, 1, 0), (0, 2, 3)])
    expected = [[1, -1, 0], [-1, 0, -1], [1, -1, 0], [1, 0, 1], [0, 1, 1]]
    np.testing.assert_array_equal(boundary.toarray(), expected)


def test_no_polygons_give_an_empty_rank():
    assert polygon_boundary(4, SQUARE, []).shape == (5, 0)
    assert polygon_boundary(4, SQUARE[:0], []).shape == (0, 0)


@pytest.mark.parametrize(
    ("polygons", "message"),
    [
        ([(0, 1, 2), (0, 1)], "polygon 1 has fewer than three vertices"),
        ([()], "polygon 0 has fewer than three vertices"),
        ([(0, 1, 2), (0, 1, 3)], "polygon 1 goes from vertex 1 to vertex 3"),
        ([(0, 1, 9)], "polygon 0 goes from vertex 1 to vertex 9"),
        ([(0, 1, 2, 0, 3, 2)], "polygon 0 has a vertex twice"),
    ],
)
def test_what_is_no_polygon_of_the_graph_is_named(polygons, message):
    with pytest.raises(ValueError, match=message):
        polygon_boundary(4, SQUARE, polygons)


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_walks_give_back_every_boundary(data):
    cells = data.draw(complexes(min_dim=2))
    cells = flip(cells, data.draw(orientations(cells)))
    cells = permute(cells, data.draw(orders(cells)))
    ends = edge_ends(cells)
    for edge, (tail, head) in enumerate(ends.tolist()):
        assert cells.boundary(1)[tail, edge] == -1
        assert cells.boundary(1)[head, edge] == 1
    number = {frozenset(pair): i for i, pair in enumerate(ends.tolist())}
    for face, walks in enumerate(boundary_walks(cells)):
        column = np.zeros(cells.num_cells[1])
        assert is_polygon(walks)
        for tail, head in zip(walks[0], walks[0][1:] + walks[0][:1], strict=True):
            edge = number[frozenset((tail, head))]
            column[edge] += 1 if ends[edge, 0] == tail else -1
        np.testing.assert_array_equal(column, cells.boundary(2)[:, [face]].toarray().ravel())


def test_a_walk_begins_with_its_lowest_edge():
    assert boundary_walks(examples.house()) == [[[0, 1, 2, 3]], [[2, 3, 4]]]
    turned = flip(examples.house(), [None, None, np.array([-1, 1])])
    assert boundary_walks(turned)[0] == [[1, 0, 3, 2]]


def test_a_face_with_a_hole_has_two_walks():
    two = examples.two_triangles()
    edges = edge_ends(two)
    outer = two.boundary(2).toarray()
    ring = CellComplex.from_boundaries([two.boundary(1), outer[:, [0]] - outer[:, [1]]])
    (walks,) = boundary_walks(ring)
    assert [set(walk) for walk in walks] == [{0, 1, 2}, {3, 4, 5}]
    assert not is_polygon(walks)
    assert len(edges) == 6


def test_a_pinched_face_is_no_polygon():
    tie = examples.bow_tie()
    column = [[1], [-1], [1], [1], [-1], [1]]
    pinched = CellComplex.from_boundaries([tie.boundary(1), column])
    (walks,) = boundary_walks(pinched)
    assert sorted(v for walk in walks for v in walk) == [0, 1, 2, 2, 3, 4]
    assert not is_polygon(walks)


def test_a_face_without_edges_has_no_walk():
    cells = CellComplex.from_boundaries([np.zeros((1, 0)), np.zeros((0, 1))])
    assert boundary_walks(cells) == [[]]
    assert not is_polygon([])


def test_edges_may_run_either_way():
    np.testing.assert_array_equal(
        edge_boundary(3, np.array([(0, 1), (2, 1)])).toarray(), [[-1, 0], [1, 1], [0, -1]]
    )
