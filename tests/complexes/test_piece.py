import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes import examples
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.piece import piece
from cellformer.encodings.encode import encode
from cellformer.encodings.rwpe import RWPe


@given(st.integers(3, 7), st.integers(3, 7), st.integers(1, 50))
@settings(deadline=None, max_examples=20)
def test_a_piece_is_a_complex_and_has_all_cells_among_its_vertices(rows, columns, vertices):
    whole = encode(examples.torus_grid(rows, columns), RWPe(2))
    part = piece(whole, vertices)
    assert part.num_vertices == min(vertices, whole.num_vertices)
    CellComplex.from_boundaries(part.boundaries)  # raises unless B_1 B_2 = 0
    assert [len(rows) for rows in part.encodings] == list(part.num_cells)
    at = {tuple(place): number for number, place in enumerate(whole.positions)}
    kept = {at[tuple(place)] for place in part.positions}
    for rank in (1, 2):
        corners = abs(whole.boundary(1).astype(int))
        if rank == 2:
            corners = corners @ abs(whole.boundary(2).astype(int))
        inside = [
            set(np.flatnonzero(column)) <= kept for column in corners.toarray().T.astype(bool)
        ]
        assert part.num_cells[rank] == sum(inside)
        np.testing.assert_array_equal(part.encodings[rank], whole.encodings[rank][inside])


def test_a_piece_of_a_large_grid_is_nearly_as_connected():
    whole = examples.torus_grid(60, 60)
    part = piece(whole, 900)
    assert sum(part.num_cells) > 0.9 * sum(whole.num_cells) / 4


@pytest.mark.parametrize("make", [examples.vertex, lambda: examples.edgeless(5), examples.bow_tie])
def test_a_complex_that_is_small_enough_is_returned_as_it_is(make):
    cells = make()
    assert piece(cells, cells.num_vertices) is cells
    assert piece(cells, 1).num_vertices == 1
