import subprocess
import sys

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import CellComplex
from cellformer.drawing.contrast import seen_on
from cellformer.drawing.draw import draw_complex, save_picture
from cellformer.drawing.theme import LIGHT
from strategies import NAMED

RED, GREEN, BLUE = np.eye(3)


def pixels(figure):
    """What is seen, as an array (row, column, red green blue) in 0 ... 1."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3] / 255


def pixel_at(figure, point):
    """The color at a place given in the coordinates of the first axes."""
    image = pixels(figure)
    x, y = figure.axes[0].transData.transform(point)
    return image[len(image) - 1 - int(y), int(x)]


def colored(cells, *colors):
    return [np.tile(color, (n, 1)) for color, n in zip(colors, cells.num_cells, strict=False)]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_every_named_complex_is_drawn(name, kind, tmp_path):
    path = tmp_path / f"picture.{kind}"
    draw_complex(NAMED[name](), title=name).savefig(path)
    assert path.stat().st_size > 1000


def test_vertices_edges_and_faces_have_their_colors():
    cells = examples.cycle(4)
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    figure = draw_complex(cells, colors=colored(cells, RED, GREEN, BLUE), positions=square)
    np.testing.assert_allclose(pixel_at(figure, (0, 0)), RED, atol=0.02)
    np.testing.assert_allclose(pixel_at(figure, (1, 1)), RED, atol=0.02)
    np.testing.assert_allclose(pixel_at(figure, (0.5, 0)), GREEN, atol=0.02)
    np.testing.assert_allclose(pixel_at(figure, (0, 0.5)), GREEN, atol=0.02)
    face = pixel_at(figure, (0.5, 0.5))
    assert face[2] > 0.98  # blue on white
    assert 0.2 < face[0] == face[1] < 0.8


def test_an_unfilled_cycle_stays_white_inside():
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    figure = draw_complex(examples.cycle(4, filled=False), positions=square)
    np.testing.assert_array_equal(pixel_at(figure, (0.5, 0.5)), [1, 1, 1])


def test_a_hole_in_a_face_stays_white():
    outer, inner = [(0, 0), (6, 0), (0, 6)], [(1, 1), (1, 3), (3, 1)]
    two = examples.two_triangles()
    ring = CellComplex.from_boundaries(
        [two.boundary(1), two.boundary(2).toarray().sum(axis=1, keepdims=True)]
    )
    figure = draw_complex(ring, positions=outer + inner)
    np.testing.assert_array_equal(pixel_at(figure, (1.7, 1.7)), [1, 1, 1])
    assert pixel_at(figure, (0.5, 3.5)).min() < 0.9


def test_smaller_faces_lie_over_larger_ones():
    # A triangle 0 1 2 around the vertex 3, and the triangle 0 1 3 inside of it.
    cells = examples.tetrahedron(filled=False)
    keep = cells.boundary(2)[:, [1, 0]]  # 0 1 3, then 0 1 2
    cells = CellComplex.from_boundaries([cells.boundary(1), keep])
    points = [(0, 0), (6, 0), (3, 5), (3, 2)]
    colors = [np.zeros((4, 3)), np.zeros((6, 3)), np.array([RED, BLUE])]
    color = pixel_at(draw_complex(cells, colors=colors, positions=points), (3, 0.7))
    assert color[0] > color[2] > color[1]


def test_in_space_the_nearer_face_hides_the_farther():
    two = examples.two_triangles()
    triangle = [(0, 0), (4, 0), (0, 4)]
    for far, near in ((0, 1), (1, 0)):
        points = [(x, y, z) for z in (far, near) for x, y in triangle]
        colors = [np.zeros((6, 3)), np.zeros((6, 3)), np.array([RED, BLUE])]
        figure = draw_complex(two, colors=colors, positions=points, view=(90.0, -90.0))
        seen = pixel_at(figure, (1, 1))
        assert seen.argmax() == (2 if near == 1 else 0)


def test_the_far_side_of_a_surface_does_not_show_through():
    cells = examples.tetrahedron(filled=False)
    points = np.array([(0, 0, 1), (4, 0, 1), (0, 4, 1), (1, 1, 0)], float)
    figure = draw_complex(
        cells, colors=colored(cells, RED, RED, BLUE), positions=points, view=(90.0, -90.0)
    )
    assert pixel_at(figure, (1, 1)).argmax() == 2  # the vertex below is hidden
    assert pixel_at(figure, (0, 0)).argmax() == 0  # a vertex of the upper face is not
    assert pixel_at(figure, (2, 0)).argmax() == 0  # nor an edge


def test_one_column_has_a_color_bar():
    cells = examples.house()
    rows = [np.linspace(-1, n, n, dtype=np.float32)[:, None] for n in cells.num_cells]
    cells = cells.with_encodings(rows, np.zeros(1, np.int8))
    figure = draw_complex(cells)
    assert len(figure.axes) == 2
    assert figure.axes[1].get_ylabel() == "encoding, column 0"
    assert figure.axes[1].get_ylim() == (-1, 6)


def test_three_columns_are_drawn_as_colors_without_a_bar():
    cells = examples.cycle(3)
    every = np.zeros((7, 3), np.float32)
    every[6] = 1
    rows = np.split(every, [3, 6])
    cells = cells.with_encodings(rows, np.zeros(3, np.int8))
    figure = draw_complex(cells, (0, 1, 2), positions=[(0, 0), (1, 0), (0, 1)])
    assert len(figure.axes) == 1
    gray = seen_on(np.zeros(3), LIGHT.page)  # black is the color of outlines
    np.testing.assert_allclose(pixel_at(figure, (0, 0)), gray, atol=0.02)


def test_given_axes_are_drawn_into():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert draw_complex(examples.house(), ax=right, title="house") is figure
    assert len(right.collections) == 4
    assert right.get_title() == "house"
    assert not left.collections


def test_a_picture_is_the_same_every_time():
    cells = examples.petersen()
    np.testing.assert_array_equal(pixels(draw_complex(cells)), pixels(draw_complex(cells)))


@pytest.mark.parametrize("vertices", [0, 1, 30])
def test_complexes_without_edges_are_drawn(vertices):
    image = pixels(draw_complex(examples.edgeless(vertices)))
    assert (image < 0.9).any() == (vertices > 0)


@pytest.mark.parametrize("space", [2, 3])
def test_vertices_in_one_place_are_drawn(space):
    image = pixels(draw_complex(examples.triangle(), positions=np.zeros((3, space))))
    assert (image < 0.9).any()


def test_empty_ranks_are_drawn():
    cells = CellComplex.from_boundaries([np.zeros((2, 0)), np.zeros((0, 0)), np.zeros((0, 0))])
    for positions in (None, np.eye(2), np.eye(2, 3)):
        assert (pixels(draw_complex(cells, positions=positions)) < 0.9).any()


def test_a_face_without_edges_is_left_out():
    cells = CellComplex.from_boundaries([np.zeros((1, 0)), np.zeros((0, 1))])
    for positions in ([(0, 0)], [(0, 0, 0)]):
        assert (pixels(draw_complex(cells, positions=positions)) < 0.9).any()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"positions": np.zeros((4, 2))}, r"positions must have shape \(5, 2 or 3\), got \(4, 2\)"),
        ({"positions": np.zeros((5, 4))}, "positions must have shape"),
        ({"positions": np.full((5, 2), np.nan)}, "a position is not finite"),
        ({"columns": (0, 1, 2)}, "have 0 columns"),
        ({"colors": [np.zeros((5, 3))] * 3}, r"colors of rank 1 must have shape \(6, 3\)"),
        ({"colors": [np.zeros((5, 3))]}, "colors of rank 1 must have shape"),
        ({"colors": [np.full((5, 3), 2.0), np.zeros((6, 3)), np.zeros((2, 3))]}, "in 0 ... 1"),
        ({"colors": [], "columns": (0,)}, "either colors or columns"),
        ({"labels": ["a"]}, "1 labels for 5 vertices"),
        ({"orders": [1.0]}, "1 orders for 6 edges"),
    ],
)
def test_what_does_not_fit_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        draw_complex(examples.house(), **wrong)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf", "PNG"])
def test_a_picture_is_written_by_the_name_of_its_file(kind, tmp_path):
    path = tmp_path / f"house.{kind}"
    save_picture(examples.house(), path, title="house")
    assert path.stat().st_size > 1000


def test_other_names_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"house\.txt: a picture's name ends in"):
        save_picture(examples.house(), tmp_path / "house.txt")
    assert not list(tmp_path.iterdir())


def test_drawing_leaves_pyplot_alone():
    code = (
        "import sys; from cellformer.drawing.draw import draw_complex;"
        "from cellformer.complexes.examples import house;"
        "draw_complex(house()); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_picture_says_what_it_does_not_show():
    (ax,) = draw_complex(examples.tetrahedron(), title="solid").axes
    assert ax.get_title() == "solid\nnot drawn: 1 cell of rank 3 or more"
    (ax,) = draw_complex(examples.tetrahedron(filled=False), title="hollow").axes
    assert ax.get_title() == "hollow"
