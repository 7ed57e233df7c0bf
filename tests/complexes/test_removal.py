import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.matrices import containment
from cellformer.complexes.removal import without_cell
from strategies import NAMED


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(sorted(NAMED)), st.data())
def test_a_cell_goes_with_all_cells_that_contain_it_and_nothing_else(name, data):
    cells = NAMED[name]()
    present = [rank for rank, count in enumerate(cells.num_cells) if count]
    if not present:
        return
    rank = data.draw(st.sampled_from(present))
    number = data.draw(st.integers(0, cells.num_cells[rank] - 1))
    smaller = without_cell(cells, rank, number)
    for above, (before, after) in enumerate(zip(cells.num_cells, smaller.num_cells, strict=True)):
        if above < rank:
            lost = 0
        elif above == rank:
            lost = 1
        else:
            lost = int(containment(cells, rank, above)[[number]].sum())
        assert before - after == lost
    checked = CellComplex.from_boundaries(smaller.boundaries, smaller.num_vertices)
    assert checked.num_cells == smaller.num_cells


def test_what_remains_keeps_order_features_encodings_and_positions():
    house = examples.house()
    cells = CellComplex.from_boundaries(
        house.boundaries,
        features=[np.arange(5), np.arange(6), np.arange(2)],
        positions=house.positions,
    )
    smaller = without_cell(cells, 0, 1)  # the corner of the square alone
    assert smaller.num_cells == (4, 4, 1)
    assert smaller.features[0].discrete[:, 0].tolist() == [0, 2, 3, 4]
    assert smaller.features[1].discrete[:, 0].tolist() == [1, 3, 4, 5]
    assert smaller.features[2].discrete[:, 0].tolist() == [1]
    np.testing.assert_array_equal(smaller.positions, house.positions[[0, 2, 3, 4]])


@pytest.mark.parametrize(("rank", "number"), [(3, 0), (0, 5), (1, -1), (-1, 0)])
def test_a_cell_that_is_not_there_is_refused(rank, number):
    with pytest.raises(ValueError, match="has no cell"):
        without_cell(examples.house(), rank, number)
