import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cellformer.encodings import walks
from cellformer.encodings.walks import return_probabilities


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
    for form in (walk, sparse.csr_array(walk)):
        found = return_probabilities(form, steps)
        np.testing.assert_allclose(found, np.stack(expected, axis=1), atol=1e-12)
        assert ((found >= 0) & (found <= 1 + 1e-12)).all()


@pytest.mark.parametrize("block", [1, 100, 1000])
def test_blocks_change_nothing(monkeypatch, block):
    walk = sparse.csr_array(random_walk(3, 60))
    whole = return_probabilities(walk, 8)
    monkeypatch.setattr(walks, "_BLOCK", block)
    assert len(walks._row_blocks(walk, 4)) > 1
    np.testing.assert_array_equal(return_probabilities(walk, 8), whole)


def test_no_cells():
    assert return_probabilities(np.zeros((0, 0)), 8).shape == (0, 8)
    assert return_probabilities(sparse.csr_array((0, 0)), 8).shape == (0, 8)
