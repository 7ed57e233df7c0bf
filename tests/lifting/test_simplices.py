import itertools

import numpy as np
import pytest

from cellformer.lifting.simplices import simplicial_complex


def test_a_tetrahedron_has_all_its_faces_in_order():
    cells = simplicial_complex([(3, 1, 0, 2)], "solid")
    assert cells.num_cells == (4, 6, 4, 1)
    assert cells.name == "solid"
    edges = list(itertools.combinations(range(4), 2))
    for column, (start, stop) in enumerate(edges):
        boundary = cells.boundary(1)[:, [column]].toarray()[:, 0]
        assert (boundary[start], boundary[stop]) == (-1, 1)
    for low, high in itertools.pairwise(cells.boundaries):
        assert not (low.astype(int) @ high.astype(int)).toarray().any()


@pytest.mark.parametrize(
    ("simplices", "message"),
    [
        ([(0, 0, 1)], "different vertices"),
        ([(-1, 0)], "different vertices, from 0"),
        (np.zeros((0, 3), int), "equally many vertices"),
        (np.array([[0.5, 1.0]]), "whole numbers"),
    ],
)
def test_what_is_no_simplex_is_told(simplices, message):
    with pytest.raises(ValueError, match=message):
        simplicial_complex(simplices)
