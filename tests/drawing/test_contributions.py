import numpy as np

from cellformer.complexes import examples
from cellformer.drawing.contributions import draw_contributions
from cellformer.explaining.contributions import Contributions


def texts(figure):
    return {text.get_text(): text.get_position() for text in figure.axes[0].texts}


def test_the_cells_that_matter_carry_their_signed_numbers():
    values = (np.array([0, 0.5, 0, 0, 0]), np.zeros(6), np.array([0, -0.25]))
    figure = draw_contributions(examples.house(), Contributions(values, 1.0), title="$x")
    written = texts(figure)
    assert written["+0.5"] == (1.0, 0.0)
    np.testing.assert_allclose(
        written["\N{MINUS SIGN}0.25"], np.mean([(1, 1), (0, 1), (0.5, 1.8)], axis=0)
    )
    assert len(written) == 2
    figure.draw_without_rendering()  # a dollar sign is no formula


def test_zero_lies_in_the_middle_of_the_colors():
    values = (np.array([0, 2.0, 0, 0, 0]), np.zeros(6), np.zeros(2))
    figure = draw_contributions(examples.house(), Contributions(values, 1.0))
    assert figure.axes[1].get_ylim() == (-2, 2)


def test_nothing_but_zeros_is_drawn():
    zeros = tuple(np.zeros(count) for count in examples.tetrahedron().num_cells)
    draw_contributions(examples.tetrahedron(), Contributions(zeros, 0.0))
    draw_contributions(examples.edgeless(0), Contributions((np.zeros(0),), 0.0))
