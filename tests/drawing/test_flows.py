import numpy as np
import pytest
from matplotlib.collections import PathCollection, PolyCollection

import cellformer as cf
from cellformer.complexes import examples
from cellformer.drawing.flows import draw_flow, flow_of

SQUARE = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])


def parts(ax, kind):
    return [each for each in ax.collections if type(each) is kind]


def titles(figure):
    return [ax.get_title() for ax in figure.axes]


def around(filled):
    """A square, and a flow of 1 around it counterclockwise."""
    cells = examples.cycle(4, filled)
    return cells, np.array([1.0, -1.0, 1.0, 1.0])  # 0-1, 0-3, 1-2, 2-3


def test_the_titles_tell_what_is_gradient_curl_and_harmonic():
    cells, flow = around(filled=False)
    assert titles(draw_flow(cells, flow, SQUARE)) == [
        "flow", "gradient: 0%", "curl: 0%", "harmonic: 100%"
    ]  # fmt: skip
    cells, flow = around(filled=True)
    assert titles(draw_flow(cells, flow, SQUARE))[2] == "curl: 100%"
    fall = cells.boundary(1).T @ np.array([0.0, 1.0, 2.0, 3.0])
    assert titles(draw_flow(cells, fall, SQUARE))[1] == "gradient: 100%"


def test_arrows_point_where_the_flow_goes_however_edges_are_oriented():
    cells, flow = around(filled=True)
    turned = cf.flip(cells, [None, np.array([-1, 1, -1, 1]), np.array([-1])])
    found = []
    for one, values in ((cells, flow), (turned, flow * [-1, 1, -1, 1])):
        figure = draw_flow(one, values, SQUARE)
        (arrows,) = parts(figure.axes[0], PolyCollection)
        corners = np.array([path.vertices[:7] for path in arrows.get_paths()])
        tip, tail = corners[:, 3], corners[:, [0, 6]].mean(axis=1)
        found.append(tip - tail)
        (face,) = parts(figure.axes[2], PathCollection)[:1]
        color = face.get_facecolor()[0]
        assert color[0] > color[2]  # orange: counterclockwise
    steps = found[0] / np.linalg.norm(found[0], axis=1)[:, None]
    np.testing.assert_allclose(steps, [(1, 0), (0, -1), (0, 1), (-1, 0)], atol=1e-9)
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_no_flow_has_no_arrows_and_no_cells_are_drawn():
    cells, _ = around(filled=True)
    figure = draw_flow(cells, np.zeros(4), title="nothing")
    assert all(not parts(ax, PolyCollection)[0].get_paths() for ax in figure.axes)
    assert len(draw_flow(examples.path(2), [1.0]).axes) == 4


def test_the_flow_of_a_set_is_its_targets_and_else_what_is_observed():
    cells, flow = around(filled=False)
    observed = cf.Features.empty(4).with_signed([1.0, 0.0, 0.0, 1.0])
    cells = cf.CellComplex.from_boundaries(cells.boundaries, features=[None, observed])
    task = cf.Task("regression", ("flow",), "mae", rank=1, flips=True)
    source = cf.complex_set([cells], [[np.nan, -1.0, 1.0, np.nan]], task)
    assert flow_of(source, 0, cells).tolist() == flow.tolist()
    assert flow_of(cf.complex_set([cells]), 0, cells).tolist() == [1, 0, 0, 1]
    with pytest.raises(ValueError, match="edges have no flow"):
        flow_of(cf.complex_set([cells]), 0, examples.house())
