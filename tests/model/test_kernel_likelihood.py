"""Weights of kernels by the likelihood of targets, against scikit-learn's Gaussian processes."""

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from cellformer.model.descriptors.kernel_likelihood import likely_kernel, surprise
from cellformer.model.descriptors.kernels import KernelWeights, shared_counts

ROWS = 40


@pytest.fixture(scope="module")
def problem():
    """Counts that say nothing of the targets, and two values, one of which does."""
    generator = torch.Generator().manual_seed(0)
    counts = torch.randint(0, 5, (ROWS, 30), generator=generator, dtype=torch.uint8)
    values = torch.randn(ROWS, 2, generator=generator, dtype=torch.float64)
    return shared_counts(counts, counts).double(), values, (2 * values[:, :1]).sin()


def weights_of(weights):
    return KernelWeights(torch.tensor(weights).double(), torch.full((2,), 0.5).double())


def test_the_likelihood_is_that_of_scikit_learn(problem):
    shared, values, targets = problem
    given = weights_of([0.0, 1.3])
    found = surprise(given, torch.tensor(0.2).double(), 0 * shared, values, targets)
    kernel = ConstantKernel(1.3) * Matern(2.0, nu=1.5) + WhiteKernel(0.2)
    about = (targets - targets.mean()).numpy()[:, 0]
    oracle = GaussianProcessRegressor(kernel, optimizer=None, alpha=0).fit(values.numpy(), about)
    expected = -oracle.log_marginal_likelihood_value_ - ROWS / 2 * np.log(2 * np.pi)
    assert float(found) == pytest.approx(expected, rel=1e-5)


def test_what_says_nothing_loses_its_weight(problem):
    shared, values, targets = problem
    found, ridge = likely_kernel(shared, values, [1, 1], targets)
    assert float(found.weights.sum()) == pytest.approx(1)
    assert found.weights[1] > 0.8
    assert found.scales[0] > 2 * found.scales[1]
    assert ridge < 0.05


def test_targets_of_noise_have_a_large_ridge(problem):
    shared, values, targets = problem
    noise = torch.randn(ROWS, 1, generator=torch.Generator().manual_seed(1)).double()
    assert (
        likely_kernel(shared, values, [2], noise)[1]
        > 5 * likely_kernel(shared, values, [2], targets)[1]
    )
    constant = likely_kernel(shared, values, [2], torch.ones_like(targets))
    assert torch.isfinite(constant[0].weights).all()


def test_unknown_targets_are_left_out(problem):
    shared, values, targets = problem
    some = torch.cat([targets, targets.cos()], dim=1)
    some[:5, 1] = torch.nan
    given = weights_of([0.4, 0.6])
    ridge = torch.tensor(0.1).double()
    whole = surprise(given, ridge, shared, values, some)
    first = surprise(given, ridge, shared, values, some[:, :1])
    second = surprise(given, ridge, shared[:, 5:, 5:], values[5:], some[5:, 1:])
    torch.testing.assert_close(whole, first + second)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_row_or_two_are_enough(problem, rows):
    shared, values, targets = (problem[0][:, :rows, :rows], problem[1][:rows], problem[2][:rows])
    found, ridge = likely_kernel(shared, values[:, :0], [], targets)
    assert found.weights.tolist() == [1.0]
    assert np.isfinite(ridge)
