"""Betti numbers against elimination by sympy, and what is known of named spaces."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sympy import GF, QQ
from sympy.polys.matrices import DomainMatrix

from cellformer.complexes.examples import house
from cellformer.complexes.homology import (
    betti_numbers,
    euler_characteristic,
    is_closed_manifold,
    is_orientable,
    matrix_rank,
)
from cellformer.data.named.triangulations import (
    boundary_of_simplex,
    connected_sum,
    projective_plane,
    times_circle,
    torus,
)
from cellformer.lifting.simplices import simplicial_complex

DOMAINS = {"Q": QQ, "Z2": GF(2)}


def exact_rank(matrix, coefficients):
    dense = matrix.toarray().astype(int).tolist()
    if not dense or not dense[0]:
        return 0
    domain = DOMAINS[coefficients]
    rows = [[domain(value) for value in row] for row in dense]
    return DomainMatrix(rows, matrix.shape, domain).rank()


def random_simplices(seed):
    rng = np.random.default_rng(seed)
    vertices, dim = int(rng.integers(5, 9)), int(rng.integers(1, 4))
    every = list(itertools.combinations(range(vertices), dim + 1))
    chosen = rng.permutation(len(every))[: int(rng.integers(1, len(every) + 1))]
    return [every[number] for number in chosen]


@pytest.mark.parametrize("coefficients", ["Q", "Z2"])
def test_ranks_of_boundaries_are_those_of_sympy_on_200_complexes(coefficients):
    for seed in range(200):
        for boundary in simplicial_complex(random_simplices(seed)).boundaries:
            assert matrix_rank(boundary, coefficients) == exact_rank(boundary, coefficients)


def test_fractions_are_no_trouble():
    matrix = sparse.csc_array(np.array([[2, 3, 5], [3, 2, 5], [5, 7, 12], [0, 0, 0]]))
    assert matrix_rank(matrix, "Q") == exact_rank(matrix, "Q") == 2
    assert matrix_rank(matrix, "Z2") == exact_rank(matrix, "Z2")


@pytest.mark.parametrize(
    ("simplices", "rational", "modulo_2", "orientable"),
    [
        (boundary_of_simplex(2), (1, 0, 1), (1, 0, 1), True),
        (torus(), (1, 2, 1), (1, 2, 1), True),
        (projective_plane(), (1, 0, 0), (1, 1, 1), False),
        (connected_sum(torus(), torus()), (1, 4, 1), (1, 4, 1), True),
        (connected_sum(projective_plane(), projective_plane()), (1, 1, 0), (1, 2, 1), False),
        (connected_sum(projective_plane(), torus()), (1, 2, 0), (1, 3, 1), False),
        (boundary_of_simplex(3), (1, 0, 0, 1), (1, 0, 0, 1), True),
        (times_circle(boundary_of_simplex(2)), (1, 1, 1, 1), (1, 1, 1, 1), True),
        (times_circle(torus()), (1, 3, 3, 1), (1, 3, 3, 1), True),
        (times_circle(projective_plane()), (1, 1, 0, 0), (1, 2, 2, 1), False),
    ],
)
def test_known_manifolds_have_their_invariants(simplices, rational, modulo_2, orientable):
    cells = simplicial_complex(simplices)
    assert betti_numbers(cells) == rational
    assert betti_numbers(cells, "Z2") == modulo_2
    for betti in (rational, modulo_2):
        assert euler_characteristic(cells) == sum((-1) ** k * n for k, n in enumerate(betti))
    assert is_closed_manifold(cells)
    assert is_orientable(cells) is orientable


def test_cells_need_not_be_simplices():
    assert betti_numbers(house()) == (1, 0, 0)


TETRAHEDRON = boundary_of_simplex(2)
PINCHED = [*TETRAHEDRON, *(tuple(v + 3 * (v > 0) for v in face) for face in TETRAHEDRON)]
TWO = [*TETRAHEDRON, *(tuple(v + 4 for v in face) for face in TETRAHEDRON)]


def test_what_is_no_closed_manifold_is_told():
    assert is_closed_manifold(simplicial_complex(TWO))
    for simplices in (TETRAHEDRON[:-1], PINCHED, [(0, 1, 2), (0, 1, 3), (0, 1, 4)], [(0, 1)],
                      suspension(torus())):  # fmt: skip
        cells = simplicial_complex(simplices)
        assert not is_closed_manifold(cells)
        with pytest.raises(ValueError, match="no closed manifold"):
            is_orientable(cells)
    assert not is_closed_manifold(house())


def suspension(simplices):
    """Two cones: a 3-manifold but for the two tips, around which the links are no spheres."""
    return [(*simplex, tip) for simplex in simplices for tip in (7, 8)]


def test_a_component_that_cannot_be_oriented_is_one_too_many():
    both = [*torus(), *(tuple(v + 7 for v in face) for face in projective_plane())]
    assert betti_numbers(simplicial_complex(both)) == (2, 2, 1)
    assert not is_orientable(simplicial_complex(both))
