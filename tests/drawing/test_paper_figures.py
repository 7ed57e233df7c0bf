"""The figures of the paper: annotated complexes, subdivisions, steps of random walks."""

from fractions import Fraction

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection, QuadMesh
from matplotlib.patches import Circle, FancyArrowPatch

from cellformer.complexes.examples import house
from cellformer.complexes.graph import Graph
from cellformer.drawing.cochains import draw_cochains
from cellformer.drawing.flows import draw_flow
from cellformer.drawing.predictions import draw_predictions
from cellformer.drawing.subdivision import draw_subdivision
from cellformer.drawing.transitions import draw_transitions
from cellformer.encodings.bspe import BSPe
from cellformer.encodings.encode import encode
from cellformer.encodings.rwpe import walk_matrix
from cellformer.lifting.rings import Rings

HOUSE = house()  # a square with a triangle on top: 5 vertices, 6 edges, 2 faces


def parts(ax, kind):
    return [each for each in ax.get_children() if isinstance(each, kind)]


def words(ax):
    return sorted(text.get_text() for text in ax.texts)


def test_a_subdivision_has_a_triangle_for_each_flag_and_a_node_for_each_cell():
    complex_, subdivided, skeleton = draw_subdivision(HOUSE).axes
    (area,) = parts(subdivided, PolyCollection)
    assert len(area.get_paths()) == 2 * 4 + 2 * 3
    for ax in (subdivided, skeleton):
        (lines,) = parts(ax, LineCollection)
        assert len(lines.get_segments()) == 2 * 6 + (4 + 3) + (4 + 3)
        assert ax.get_xlim() == complex_.get_xlim()
    nodes = [each for each in skeleton.collections if not isinstance(each, LineCollection)]
    assert [len(each.get_offsets()) for each in nodes] == list(HOUSE.num_cells)
    without = draw_subdivision(Rings()(Graph.from_edges([(0, 1)])), title="an edge")
    assert len(without.axes) == 3


def test_steps_go_to_faces_and_cofaces_or_to_neighbors():
    triangle = 1 if HOUSE.boundary(2)[:, [1]].nnz == 3 else 0
    left, right = draw_transitions(HOUSE, 2, triangle).axes
    assert len(parts(left, FancyArrowPatch)) == 6  # three vertices and three edges
    assert words(left) == ["1/6"] * 6
    assert len(parts(right, FancyArrowPatch)) == 1
    assert words(right) == ["1"]
    _, right = draw_transitions(HOUSE, 1, 0).axes
    column = walk_matrix(HOUSE, 1)[:, [0]].toarray()[:, 0]
    told = [str(Fraction(value).limit_denominator(99)) for value in column[column > 0]]
    assert words(right) == sorted(told)


def test_a_cell_without_neighbors_stays():
    for ax in draw_transitions(Rings()(Graph.from_edges([], num_vertices=1)), 0, 0).axes:
        assert len(parts(ax, Circle)) == 1
        assert words(ax) == ["stays: 1"]


def test_a_cell_that_is_not_there_is_named():
    for rank, cell in ((0, 5), (3, 0), (1, -1)):
        with pytest.raises(ValueError, match=rf"no cell {cell} of rank {rank}; .*5, 6, 2"):
            draw_transitions(HOUSE, rank, cell)


def test_cochains_have_a_row_for_each_cell_and_a_column_for_each_value():
    cells = encode(Rings()(Graph.from_smiles("c1ccccc1O")), (BSPe(3),))
    figure = draw_cochains(cells, symbols=list("CCCCCCO"), title="phenol")
    _, vertices, edges, rings = figure.axes
    for ax, rank, features in ((vertices, 0, 9), (edges, 1, 3), (rings, 2, 0)):
        shown = [mesh.get_array().shape for mesh in parts(ax, QuadMesh)]
        rows = cells.num_cells[rank]
        assert shown == [(rows, columns) for columns in (features, 3) if columns]
        assert len(ax.get_yticklabels()) == rows
    assert edges.get_yticklabels()[0].get_text().startswith("C")
    (encodings,) = parts(rings, QuadMesh)
    np.testing.assert_array_equal(encodings.get_array(), np.full((1, 3), 0.5))  # a single ring
    bare = draw_cochains(Rings()(Graph.from_edges([(0, 1)])))
    assert "no values" in bare.axes[1].get_title()


@pytest.mark.parametrize(
    "draw",
    [
        draw_subdivision,
        lambda cells: draw_transitions(cells, 1, 0),
        lambda cells: draw_flow(cells, np.arange(6.0)),
        lambda cells: draw_predictions(cells, 0, np.arange(5.0), np.ones(5)),
    ],
    ids=["subdivision", "steps", "flow", "predictions"],
)
def test_no_title_is_cut(draw):
    figure = draw(HOUSE)
    figure.draw_without_rendering()
    for ax in figure.axes:
        box = ax.title.get_window_extent()
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.height - 2  # pixels
