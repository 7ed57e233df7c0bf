import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.examples import grid
from cellformer.encodings.encode import encode
from cellformer.encodings.rwpe import RWPe, walk_matrix


def case_formula(cells, rank):
    """The appendix's case formula for ``RW_k``, entry by entry."""
    count = cells.num_cells[rank]
    cofaces = abs(cells.boundary(rank + 1).toarray())
    faces = abs(cells.boundary(rank).toarray())

    def weights(shared):
        weight = np.zeros((count, count))
        for i in range(count):
            for j in range(count):
                if i != j:
                    weight[i, j] = shared(i, j)
        neighbors = (weight > 0).sum(axis=0)  # deg_U or deg_L
        for i in range(count):
            if not neighbors[i]:
                weight[i, i] = 1  # a loop
        return weight / weight.sum(axis=0), neighbors

    up, deg_up = weights(lambda i, j: sum(1 for c in cofaces.T if c[i] and c[j]))
    down, deg_down = weights(lambda i, j: sum(1 for f in faces if f[i] and f[j]))
    walk = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            if deg_up[j] and deg_down[j]:
                walk[i, j] = up[i, j] / 2 + down[i, j] / 2
            elif deg_up[j]:
                walk[i, j] = up[i, j]
            elif deg_down[j]:
                walk[i, j] = down[i, j]
            else:
                walk[i, j] = float(i == j)
    return walk


def check_against_case_formula(cells, size):
    ours = encode(cells, RWPe(size)).encodings
    for rank in range(cells.dim + 1):
        walk = case_formula(cells, rank)
        np.testing.assert_allclose(walk_matrix(cells, rank).toarray(), walk, atol=1e-15)
        expected = [np.diag(np.linalg.matrix_power(walk, p)) for p in range(1, size + 1)]
        np.testing.assert_allclose(ours[rank], np.stack(expected, axis=1), atol=1e-6)


def test_named_complexes_match_the_case_formula(named):
    if max(named.num_cells) < 50:
        check_against_case_formula(named, 8)


@given(st.integers(0, 10_000), st.integers(1, 9))
@settings(deadline=None, max_examples=25)
def test_random_complexes_match_the_case_formula(random_complex, seed, size):
    check_against_case_formula(random_complex(seed), size)


def test_columns_sum_to_one_and_values_are_probabilities(named):
    for rank, rows in enumerate(encode(named, RWPe(8)).encodings):
        np.testing.assert_allclose(walk_matrix(named, rank).sum(axis=0), 1, atol=1e-12)
        assert ((rows >= 0) & (rows <= 1)).all()


@pytest.mark.parametrize(
    ("name", "rank"), [("edgeless", 0), ("vertex", 0), ("filled triangle", 2), ("two triangles", 2)]
)
def test_cells_without_neighbors_stay(make, name, rank):
    assert (encode(make(name), RWPe(8)).encodings[rank] == 1).all()


def test_steps_are_weighted_by_the_number_of_shared_cells(make):
    # Edge 1-2 of two tetrahedra with the common face 1-2-3 lies in 3 triangles, with 1-3 in one.
    walk = walk_matrix(make("tetrahedra"), 2).toarray()
    # The triangle 0-1-2 shares its one tetrahedron and an edge each with three triangles, and
    # an edge with two triangles of the other tetrahedron.
    first = walk[:, 0]
    assert sorted(first[first > 0].round(6)) == pytest.approx(
        sorted([1 / 6 + 1 / 2 / shared for shared in [4, 4, 4]] + [1 / 8]), abs=1e-6
    )
    # Two 2-cells with three edges in common: one step there, the next one back.
    assert encode(make("pillow"), RWPe(4)).encodings[2].tolist() == [[0, 1, 0, 1]] * 2


def test_a_large_complex_matches_dense_powers():
    cells = grid(13, 14)
    for rank, rows in enumerate(encode(cells, RWPe(8)).encodings):
        walk = walk_matrix(cells, rank).toarray()
        powers = [np.linalg.matrix_power(walk, step) for step in range(1, 9)]
        expected = np.stack([np.diag(power) for power in powers], axis=1)
        np.testing.assert_allclose(rows, expected, atol=1e-6)
