import pytest
from matplotlib.patches import Circle, FancyArrowPatch

import cellformer as cf
from cellformer.drawing.diagram import draw_diagram
from cellformer.model.diagram import Arrow, TensorDiagram


@pytest.mark.parametrize("max_rank", [1, 2, 4])
def test_every_rank_is_a_disk_and_every_arrow_an_arrow(max_rank):
    plan = cf.pairwise_mixed(max_rank)
    (ax,) = draw_diagram(plan).axes
    assert sum(isinstance(patch, Circle) for patch in ax.patches) == max_rank + 1
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == len(plan.diagram.arrows)
    assert sum(arrow.get_linewidth() == 3.0 for arrow in arrows) == max_rank + 1  # dense
    assert len(ax.get_legend().get_texts()) == 2


@pytest.mark.parametrize("plan", [cf.general_dense(), cf.general_sparse(), cf.pairwise_dense()])
def test_dense_arrows_are_wide_and_one_softmax_is_told(plan):
    (ax,) = draw_diagram(plan).axes
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
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
