import numpy as np
import pytest
from matplotlib.colors import to_rgb

from cellformer.complexes import examples
from cellformer.drawing.colors import column_map
from cellformer.drawing.predictions import draw_predictions
from cellformer.drawing.theme import DARK, LIGHT

VALUES = np.array([0.0, 1, 2, 3, 4])


def disks(ax):
    return ax.collections[-1].get_facecolor()[:, :3]


def titles(figure):
    return [ax.get_title() for ax in figure.axes if ax.get_label() != "<colorbar>"]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_truth_and_prediction_share_their_colors_and_the_error_has_its_own(theme):
    figure = draw_predictions(examples.house(), 0, VALUES, VALUES[::-1].copy(), theme=theme)
    assert titles(figure) == ["true", "predicted", "error"]
    true, predicted, error = figure.axes[:3]
    np.testing.assert_allclose(disks(true), disks(predicted)[::-1])
    np.testing.assert_allclose(disks(predicted)[0], column_map(theme)(0.0)[:3])
    bars = [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]
    assert [bar.get_xlim() for bar in bars] == [(0, 4), (-4, 4)]
    assert not np.allclose(disks(error), disks(true))


def test_what_is_unknown_stands_back():
    true = np.array([0, np.nan, 2, 3, 4])
    figure = draw_predictions(examples.house(), 0, VALUES, true)
    for ax in (figure.axes[0], figure.axes[2]):
        np.testing.assert_allclose(disks(ax)[1], to_rgb(LIGHT.faint))
    assert not np.allclose(disks(figure.axes[1])[1], to_rgb(LIGHT.faint))


@pytest.mark.parametrize("true", [None, np.full(5, np.nan)])
def test_without_a_truth_there_is_the_prediction_alone(true):
    assert titles(draw_predictions(examples.house(), 0, VALUES, true)) == ["predicted"]


@pytest.mark.parametrize("panel", ["true", "predicted", "error"])
def test_a_panel_alone_has_the_colors_that_it_has_beside_the_others_and_their_key(panel):
    true = VALUES[::-1].copy()
    whole = draw_predictions(examples.house(), 0, VALUES, true)
    alone = draw_predictions(examples.house(), 0, VALUES, true, panel=panel)
    assert titles(alone) == [panel]
    (place,) = [number for number, title in enumerate(titles(whole)) if title == panel]
    np.testing.assert_array_equal(disks(alone.axes[0]), disks(whole.axes[place]))
    (bar,) = [ax for ax in alone.axes if ax.get_label() == "<colorbar>"]
    assert bar.get_xlim() == ((-4, 4) if panel == "error" else (0, 4))


def test_a_panel_that_needs_a_truth_is_refused_without():
    with pytest.raises(ValueError, match="without a truth there is no panel 'error'"):
        draw_predictions(examples.house(), 0, VALUES, panel="error")


def test_classes_have_a_legend():
    classes = np.array([0.0, 1, 2, 1, 0])
    figure = draw_predictions(examples.house(), 0, classes, classes, np.zeros(5), ["a", "$b$", "c"])
    (legend,) = [ax.get_legend() for ax in figure.axes if ax.get_legend()]
    assert [text.get_text() for text in legend.get_texts()] == ["a", "$b$", "c"]
    assert not any(text.get_parse_math() for text in legend.get_texts())


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_cells_of_any_rank_are_drawn_in_space(rank):
    count = examples.tetrahedron().num_cells[rank]
    figure = draw_predictions(examples.tetrahedron(), rank, np.zeros(count), np.ones(count))
    figure.draw_without_rendering()
    for ax in figure.axes[:3]:
        box = ax.title.get_window_extent()
        assert box.y1 <= figure.bbox.height  # words are not cut
