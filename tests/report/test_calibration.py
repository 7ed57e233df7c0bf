import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from cellformer.report.calibration import LEVELS, coverages, interval_half_width, reliability


@settings(deadline=None, max_examples=30)
@given(st.integers(20, 200), st.floats(0.1, 0.9), st.integers(0, 10**6))
def test_at_least_the_promised_share_of_the_residuals_lies_within(count, level, seed):
    residuals = np.random.default_rng(seed).normal(size=count)
    width = interval_half_width(residuals, level)
    assert np.mean(np.abs(residuals) <= width) >= level
    assert np.mean(np.abs(residuals) < width) <= level + 1 / count


def test_new_values_lie_within_as_often_as_promised():
    rng = np.random.default_rng(1)
    inside = [
        np.abs(rng.normal()) <= interval_half_width(rng.normal(size=19), 0.9) for _ in range(4000)
    ]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.015)


def test_too_few_residuals_promise_nothing():
    assert interval_half_width(np.zeros(0), 0.5) == np.inf
    assert interval_half_width(np.array([1.0, np.nan]), 0.9) == np.inf


def test_coverages_rise_with_the_level():
    rng = np.random.default_rng(2)
    covered = coverages(rng.normal(size=500), rng.normal(size=500))
    assert (np.diff(covered) >= 0).all()
    np.testing.assert_allclose(covered, LEVELS, atol=0.07)
    assert np.isnan(coverages(np.zeros(3), np.zeros(0))).all()


def test_reliability_agrees_with_scikit_learn():
    rng = np.random.default_rng(3)
    probabilities = rng.uniform(size=300)
    true = (rng.uniform(size=300) < probabilities).astype(float)
    found = reliability(probabilities, true)
    share, said = calibration_curve(true, probabilities, n_bins=10)
    np.testing.assert_allclose(found.said, said)
    np.testing.assert_allclose(found.true, share)
    assert found.counts.sum() == 300
    assert 0 < found.expected_error < 0.2
