import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Circle, FancyArrowPatch

from cellformer.complexes import examples
from cellformer.drawing.attention import draw_attention, draw_attention_matrix
from cellformer.drawing.contrast import seen_on
from cellformer.drawing.theme import DARK, LIGHT, TOKEN_COLORS
from cellformer.explaining.attention import ArrowWeights


def attention(sender, receiver, pairs, weights=None):
    receivers, senders = np.array(pairs, np.int64).T
    heads = np.ones((len(pairs), 2)) if weights is None else np.array(weights, float)
    return ArrowWeights(0, f"{sender} -> {receiver}", sender, receiver, receivers, senders, heads)


def arcs(figure):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]


def test_arcs_of_every_ring_have_its_color_and_every_ring_its_number():
    found = attention(2, 1, [(0, 0), (2, 0), (5, 1)])
    figure = draw_attention(examples.house(), found)
    colors = sorted(to_hex(arc.get_edgecolor()) for arc in arcs(figure))
    first, second = (
        to_hex(seen_on(np.array(to_rgb(color)), LIGHT.page)) for color in TOKEN_COLORS[:2]
    )
    assert colors == sorted([first, first, second])
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "0" in texts
    assert "1" in texts


def test_the_greater_weight_has_the_wider_arc():
    found = attention(0, 0, [(0, 1), (1, 2)], [[0.1, 0.9], [0.8, 0.2]])
    for head, wider in ((0, 1), (1, 0)):
        by_place = {
            tuple(np.round(arc._posA_posB[0], 6)): arc.get_linewidth()
            for arc in arcs(draw_attention(examples.house(), found, head))
        }
        widths = [by_place[(1.0, 0.0)], by_place[(1.0, 1.0)]]  # from vertex 1, from vertex 2
        assert int(np.argmax(widths)) == wider


def test_attention_of_a_cell_to_itself_is_a_ring():
    figure = draw_attention(examples.house(), attention(0, 0, [(3, 3)]))
    assert not arcs(figure)
    assert [patch.center for patch in figure.axes[0].patches if isinstance(patch, Circle)] == [
        (0.0, 1.0)
    ]


def test_too_many_pairs_are_named():
    cells = examples.grid(5, 5)
    pairs = [(a, b) for a in range(36) for b in range(36)]
    figure = draw_attention(cells, attention(0, 0, pairs))
    assert "the strongest 400 of 1296 pairs" in figure.axes[0].get_title()


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_matrix_has_weights_names_and_blanks(theme):
    found = attention(2, 1, [(0, 0), (2, 1)], [[0.25, 1], [0.5, 1]])
    figure = draw_attention_matrix(examples.house(), found, head=0, theme=theme)
    ax = figure.axes[0]
    shown = ax.images[0].get_array()
    assert shown[0, 0] == 0.25
    assert shown[2, 1] == 0.5
    assert np.ma.getmaskarray(shown).sum() == 6 * 2 - 2
    assert [label.get_text() for label in ax.get_xticklabels()] == ["face 0", "face 1"]
    assert ax.get_yticklabels()[0].get_text() == "0-1"
    assert to_hex(figure.get_facecolor()).upper() == theme.page


def test_complexes_without_any_pair_and_in_space_are_drawn():
    nothing = ArrowWeights(0, "0 -> 0", 0, 0, np.zeros(0, np.int64), np.zeros(0, np.int64),
                             np.zeros((0, 2)))  # fmt: skip
    draw_attention(examples.vertex(), nothing)
    draw_attention_matrix(examples.vertex(), nothing)
    draw_attention(examples.tetrahedron(), attention(2, 2, [(0, 1)]))
