import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.encodings.pairs import TOUCHING, CellPairs, pair_columns, pair_features

STEPS = 4


def all_pairs(cells, receivers, senders, entries=None):
    """Every pair of cells of these ranks."""
    counts = [sum(cells.num_cells[rank] for rank in ranks) for ranks in (receivers, senders)]
    rows, columns = (side.ravel() for side in np.indices(counts).astype(np.int64))
    given = np.zeros(len(rows), np.float32) if entries is None else entries
    return CellPairs(receivers, senders, rows, columns, given)


def expected_features(cells, group, adjacency):
    """One pair after the other, by whole matrices and graph search."""
    ranked = [(rank, i) for rank in range(cells.dim + 1) for i in range(cells.num_cells[rank])]
    number = {cell: place for place, cell in enumerate(ranked)}
    sides = [[c for c in ranked if c[0] in ranks] for ranks in (group.receivers, group.senders)]
    looped = adjacency + np.diag(adjacency.sum(axis=0) == 0)
    walk = looped / looped.sum(axis=0)
    powers = [np.linalg.matrix_power(walk, step) for step in range(1, STEPS + 1)]
    distances = dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(adjacency)))
    result = []
    for row, column, entry in zip(group.rows, group.columns, group.entries, strict=True):
        (rank, i), (other, j) = sides[0][row], sides[1][column]
        here, there = number[rank, i], number[other, j]
        distance = distances[here].get(there, np.inf)
        near = 1 / (1 + distance) if distance <= STEPS else 0
        common = np.zeros(5)
        if rank == other:
            above = cells.boundary(rank + 1).toarray().astype(int)
            below = cells.boundary(rank).toarray().astype(int)
            up, down = above[i] @ above[j], below[:, i] @ below[:, j]
            counted = abs(above[i]) @ abs(above[j]), abs(below[:, i]) @ abs(below[:, j])
            common[:] = *counted, abs(up), abs(down), up * down
        probabilities = [np.sqrt(power[here, there]) for power in powers]
        result.append([entry, here == there, near, *common, *probabilities])
    return np.array(result).reshape(-1, pair_columns(STEPS))


def sides_of(dim):
    ranks = range(dim + 1)
    return [
        *(((one,), (other,)) for one, other in itertools.product(ranks, ranks)),
        (tuple(ranks), tuple(ranks)),
    ]


def test_named_complexes_have_the_features_of_whole_matrices(named, closure_matrix):
    adjacency = closure_matrix(named)
    groups = [all_pairs(named, *sides) for sides in sides_of(named.dim)]
    if named.num_cells[0] > 50:
        groups = groups[:1]
    for group, found in zip(groups, pair_features(named, groups, STEPS), strict=True):
        expected = expected_features(named, group, adjacency)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 999))
def test_random_complexes_have_them_too_and_numbering_and_orientation_do_not_matter(
    random_complex, closure_matrix, transformed, seed
):
    cells = random_complex(seed)
    ranks = tuple(range(cells.dim + 1))
    random = np.random.default_rng(seed)
    group = all_pairs(cells, ranks, ranks)
    group = CellPairs(
        ranks, ranks, group.rows, group.columns, random.integers(0, 9, len(group.rows)).astype("f4")
    )
    (found,) = pair_features(cells, [group], STEPS)
    expected = expected_features(cells, group, closure_matrix(cells))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

    other, orders, _ = transformed(cells, seed)
    begins = np.cumsum([0, *cells.num_cells[:-1]])
    place = np.concatenate(
        [np.argsort(order) + begin for order, begin in zip(orders, begins, strict=True)]
    ).astype(np.int64)
    moved = CellPairs(ranks, ranks, place[group.rows], place[group.columns], group.entries)
    (again,) = pair_features(other, [moved], STEPS)
    np.testing.assert_allclose(again, found, rtol=1e-5, atol=1e-6)


def test_orientations_that_disagree_cancel_only_where_signs_count(make):
    cells = make("pillow")  # both faces run around the same three edges
    (found,) = pair_features(cells, [all_pairs(cells, (2,), (2,))], STEPS)
    named = dict(zip(TOUCHING, found[1].tolist(), strict=False))
    assert (named["common faces"], named["common faces by sign"]) == (3, 3)
    (found,) = pair_features(cells, [all_pairs(cells, (0,), (0,))], STEPS)
    own = dict(zip(TOUCHING, found[0].tolist(), strict=False))
    assert (own["same cell"], own["nearness"], own["common cofaces"]) == (1, 1, 2)


def test_pairs_out_of_reach_and_no_pairs_at_all(make):
    cells = make("two triangles")
    (found,) = pair_features(cells, [all_pairs(cells, (0,), (0,))], STEPS)
    apart = found.reshape(6, 6, -1)[0, 3:]
    np.testing.assert_array_equal(apart, np.zeros_like(apart))
    none = np.zeros(0, np.int64)
    (empty,) = pair_features(cells, [CellPairs((1,), (1,), none, none, none.astype("f4"))], 2)
    assert empty.shape == (0, pair_columns(2))
    assert pair_features(cells, [], STEPS) == []
    with pytest.raises(ValueError, match="steps must be at least 1"):
        pair_features(cells, [], 0)
