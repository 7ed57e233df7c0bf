import numpy as np
import pandas as pd
import pytest

from cellformer.drawing.contrast import contrast
from cellformer.report.charts import confusion_chart, learning_curves

CURVE = pd.DataFrame(
    {"epoch": [0, 1], "train_loss": [2.0, 1.0], "val_loss": [3.0, 2.0], "val_mae": [70.0, 60.0]}
)


def lines(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


def test_a_curve_of_a_part_of_the_model_says_so_and_has_the_score_of_the_whole():
    made = learning_curves(CURVE, "mae", 2, " of the cells alone", 18.9)
    assert set(lines(made["Validation mae"])) == {
        "cells alone", "best epoch", "best epoch, whole model"}  # fmt: skip
    assert lines(made["Validation mae"])["best epoch, whole model"].get_ydata()[0] == 18.9
    assert set(lines(made["Loss"])) == {"training", "validation", "best epoch"}


def test_a_curve_that_has_both_scores_shows_both():
    both = CURVE.assign(val_mae_joint=[30.0, 18.9])
    shown = lines(learning_curves(both, "mae", 2, " of the cells alone", 18.9)["Validation mae"])
    assert set(shown) == {"cells alone", "whole model", "best epoch"}
    assert list(shown["whole model"].get_ydata()) == [30.0, 18.9]


@pytest.mark.parametrize("together", [None, 60.0])
def test_a_curve_of_the_whole_model_has_one_score(together):
    made = learning_curves(CURVE, "mae", 2, "", together)
    assert set(lines(made["Validation mae"])) == {"validation", "best epoch"}


def test_the_numbers_of_a_confusion_can_be_read_on_every_shade():
    (ax,) = confusion_chart(np.random.default_rng(0).integers(0, 9, (6, 6)), list("abcdef")).axes
    (mesh,) = ax.collections
    mesh.update_scalarmappable()
    fills = mesh.get_facecolor()[:, :3]
    assert len(ax.texts) == len(fills) == 36
    for text, fill in zip(ax.texts, fills, strict=True):
        assert contrast(fill, text.get_color()) >= 4.5
