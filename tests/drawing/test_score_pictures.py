import math

import pytest

from cellformer.drawing.scores.grid import ScorePanel, draw_score_grid
from cellformer.drawing.scores.ranks import RankPanel, RankRow, draw_score_ranks
from cellformer.drawing.theme import DARK, LIGHT

ROWS, COLUMNS = ("a_b", "c$d"), ("x", "y")
VALUES = {("a_b", "x"): (0.5, 0.01), ("a_b", "y"): (0.7, math.nan), ("c$d", "x"): (math.nan,) * 2}


def written(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_score_is_written_with_its_place_and_what_to_compare_with(theme):
    panel = ScorePanel("T", ROWS, COLUMNS, VALUES, {("a_b", "y"): 0.6},
                       {("a_b", "y"): 1, ("a_b", "x"): 4}, True)  # fmt: skip
    figure = draw_score_grid([panel, panel], theme)
    figure.canvas.draw()
    assert len(figure.axes) == 2
    told = written(figure.axes[0])
    assert told == ["0.5000", "± 0.0100", "0.7000  1st", "paper 0.6000", "undefined", "-"]


def test_brighter_is_better_whichever_way_that_is():
    def brightness(higher):
        (ax,) = draw_score_grid([ScorePanel("T", ROWS, COLUMNS, VALUES, {}, {}, higher)]).axes
        return [sum(patch.get_facecolor()[:3]) for patch in ax.patches[:2]]

    low, high = brightness(True)
    assert low < high
    low, high = brightness(False)
    assert low > high


@pytest.mark.parametrize(("higher", "order"), [(True, ["c", "a"]), (False, ["a", "c"])])
def test_models_stand_in_the_order_of_their_scores(higher, order):
    rows = (RankRow("a", 0.1, math.nan, False), RankRow("b$", math.nan, math.nan, False),
            RankRow("c", 0.2, 0.05, True))  # fmt: skip
    figure = draw_score_ranks([RankPanel("T", rows, higher), RankPanel("E", (), True)])
    figure.canvas.draw()
    ax = figure.axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    assert ax.yaxis.get_inverted()
    assert any("± 0.0500" in text for text in written(ax))
