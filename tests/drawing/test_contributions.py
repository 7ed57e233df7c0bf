import itertools

import numpy as np
import pytest

import cellformer as cf
from cellformer.complexes import examples
from cellformer.drawing.contributions import draw_contributions
from cellformer.drawing.molecule import atom_symbols, hetero_labels, molecule_positions
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


@pytest.mark.parametrize("smiles", ["Cn1cnc2c1c(=O)n(C)c(=O)n2C", "CC(=O)Nc1ccc(O)cc1", "OO"])
def test_numbers_lie_neither_over_each_other_nor_over_letters(smiles):
    cells = cf.lift(cf.Graph.from_smiles(smiles), cf.Rings())
    random = np.random.default_rng(1)
    values = tuple(random.normal(size=count) for count in cells.num_cells)
    labels = hetero_labels(atom_symbols(smiles))
    figure = draw_contributions(
        cells, Contributions(values, 1.0), molecule_positions(smiles), labels, size=5.0
    )
    figure.draw_without_rendering()
    ax = figure.axes[0]
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) > sum(map(bool, labels))
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for box in boxes[sum(map(bool, labels)) :]:
        assert ax.get_window_extent().contains(*box.get_points().mean(axis=0))


def test_where_there_is_no_room_numbers_are_left_out():
    values = (np.ones(9), np.ones(12), np.ones(4))
    cells = examples.grid(2, 2)
    tiny = draw_contributions(cells, Contributions(values, 1.0), size=0.8)
    wide = draw_contributions(cells, Contributions(values, 1.0), size=6.0)
    assert len(tiny.axes[0].texts) < len(wide.axes[0].texts) == 12
