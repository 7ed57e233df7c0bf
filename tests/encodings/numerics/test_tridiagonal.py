import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.encodings.numerics.tridiagonal import tridiagonal_eigenvectors


def check(diagonal, off):
    count = len(diagonal)
    matrix = np.diag(diagonal) + np.diag(off[: count - 1], 1) + np.diag(off[: count - 1], -1)
    values, rows, converged = tridiagonal_eigenvectors(diagonal, off)
    scale = abs(matrix).max()
    assert converged
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-13 * count * scale)
    np.testing.assert_allclose(rows @ rows.T, np.eye(count), atol=1e-12)
    np.testing.assert_allclose(matrix @ rows.T, rows.T * values, atol=1e-13 * count * scale)


@given(st.integers(0, 10_000), st.integers(1, 60), st.sampled_from([1e-8, 1.0, 1e8]))
@settings(deadline=None, max_examples=30)
def test_values_and_vectors_are_those_of_numpy(seed, count, scale):
    random = np.random.default_rng(seed)
    check(scale * random.standard_normal(count), scale * random.standard_normal(count))


@pytest.mark.parametrize("off", [0.0, 1e-300, 1e-9, 1.0])
def test_repeated_and_nearly_uncoupled_values(off):
    check(np.array([1.0, 1.0, 2.0, 2.0, 2.0, 0.0]), np.array([0.0, off, 0.0, off, off, 0.0]))
    check(np.ones(5), np.full(5, off))
