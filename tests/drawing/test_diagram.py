import numpy as np
import pytest
from matplotlib.patches import Circle, PathPatch, Polygon

import cellformer as cf
from cellformer.drawing.diagram import draw_diagram
from cellformer.model.relations.diagram import Arrow, TensorDiagram


def arrows_of(ax):
    return [patch for patch in ax.patches if isinstance(patch, PathPatch)]


@pytest.mark.parametrize("max_rank", [1, 2, 4])
def test_every_rank_is_a_disk_and_every_arrow_an_arrow(max_rank):
    plan = cf.pairwise_mixed(max_rank)
    (ax,) = draw_diagram(plan).axes
    assert sum(isinstance(patch, Circle) for patch in ax.patches) == max_rank + 1
    arrows = arrows_of(ax)
    assert len(arrows) == len(plan.diagram.arrows)
    assert sum(isinstance(patch, Polygon) for patch in ax.patches) == len(arrows)
    assert sum(arrow.get_linewidth() == 3.0 for arrow in arrows) == max_rank + 1  # dense
    assert len(ax.get_legend().get_texts()) == 2


@pytest.mark.parametrize("plan", [cf.general_dense(), cf.general_sparse(), cf.pairwise_dense()])
def test_dense_arrows_are_wide_and_one_softmax_is_told(plan):
    (ax,) = draw_diagram(plan).axes
    arrows = arrows_of(ax)
    wide = [arrow.get_linewidth() == 3.0 for arrow in arrows]
    assert wide == [plan != cf.general_sparse()] * 7
    assert ("one softmax" in ax.get_title()) == isinstance(plan, cf.General)
    assert len(ax.get_legend().get_texts()) == 1


def test_neighborhoods_are_named():
    def same_ring(cells):
        raise AssertionError("a picture needs no matrix")

    diagram = TensorDiagram(
        (
            Arrow(0, 0, "up"),
            Arrow(0, 0, same_ring),
            Arrow(0, 1, "incidence"),
            Arrow(0, 2, same_ring),
        )
    )
    (ax,) = draw_diagram(cf.General(diagram, dense=False)).axes
    written = [text.get_text() for text in ax.texts]
    assert "A↑" in written
    assert written.count("same_ring") == 2
    assert "one softmax" in ax.get_title()


def test_loops_end_in_a_head_that_points_at_their_disk_and_have_their_names_beside():
    (ax,) = draw_diagram(cf.pairwise_sparse()).axes
    heads = [patch for patch in ax.patches if isinstance(patch, Polygon)]
    loops = 0
    for arrow, head in zip(arrows_of(ax), heads, strict=True):
        path = arrow.get_path().vertices
        tip, *base = head.get_xy()[:3]
        start, rank = path[0], 2 * round(tip[0] / 2)
        if round(start[0] / 2) != round(tip[0] / 2):
            continue
        loops += 1
        center = np.array([rank, 0.0])
        along = tip - np.mean(base, axis=0)
        inwards = center - tip
        cosine = along @ inwards / np.linalg.norm(along) / np.linalg.norm(inwards)
        assert cosine > 0.99
        assert 0 <= np.linalg.norm(tip - center) - 0.36 < 0.05
    assert loops == 3


def test_no_arrow_runs_through_a_name():
    (ax,) = draw_diagram(cf.pairwise_mixed(3)).axes
    ax.get_figure().draw_without_rendering()
    names = [text.get_window_extent() for text in ax.texts if text.get_text()[0] in "AI"]
    assert len(names) == 10
    share = np.linspace(0, 1, 100)[:, None]
    weights = [(1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share), share**3]
    for arrow in arrows_of(ax):
        points = ax.transData.transform(np.hstack(weights) @ arrow.get_path().vertices)
        assert not any(name.contains(x, y) for name in names for x, y in points)
