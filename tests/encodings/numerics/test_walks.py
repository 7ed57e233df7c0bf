import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cellformer.encodings.numerics import walks
from cellformer.encodings.numerics.walks import return_probabilities


def random_walk(seed, count):
    """A weighted random graph's walk, not reversible: columns sum to 1."""
    random = np.random.default_rng(seed)
    weights = random.random((count, count)) * (random.random((count, count)) < 0.3) * 1e4
    weights[np.diag_indices(count)] += weights.sum(axis=0) == 0
    return weights / weights.sum(axis=0)


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 11))
@settings(deadline=None, max_examples=50)
def test_diagonals_of_powers(seed, count, steps):
    walk = random_walk(seed, count)
    expected = [np.diag(np.linalg.matrix_power(walk, p)) for p in range(1, steps + 1)]
    found = return_probabilities(sparse.csr_array(walk), steps)
    np.testing.assert_allclose(found, np.stack(expected, axis=1), atol=1e-12)
    assert ((found >= 0) & (found <= 1 + 1e-12)).all()


def test_crowded_blocks_are_multiplied_as_arrays(monkeypatch):
    blocks = [random_walk(1, 70), np.eye(3), random_walk(2, 90), random_walk(3, 5)]
    walk = sparse.csr_array(sparse.block_diag(blocks))
    offsets = np.cumsum([0, *map(len, blocks)])
    products, multiplied = walks._by_products, []

    def recorded(array, steps):
        multiplied.append(len(array))
        return products(array, steps)

    monkeypatch.setattr(walks, "_by_products", recorded)
    found = return_probabilities(walk, 7, offsets)
    assert multiplied == [70, 90]
    np.testing.assert_allclose(found, return_probabilities(walk, 7), atol=1e-14)


def test_a_block_has_the_same_bits_alone():
    blocks = [random_walk(seed, size) for seed, size in enumerate((4, 40, 1, 12))]
    together = return_probabilities(sparse.csr_array(sparse.block_diag(blocks)), 8)
    alone = [return_probabilities(sparse.csr_array(block), 8) for block in blocks]
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_no_cells():
    assert return_probabilities(sparse.csr_array((0, 0)), 8).shape == (0, 8)
    empty = return_probabilities(sparse.csr_array((0, 0)), 8, np.zeros(1, np.int64))
    assert empty.shape == (0, 8)
