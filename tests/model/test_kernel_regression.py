import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge

from cellformer.model.descriptors.kernel_regression import regression


@pytest.fixture(scope="module")
def problem():
    generator = np.random.default_rng(0)
    points = generator.normal(size=(12, 3))
    kernel = np.exp(-((points[:, None] - points) ** 2).sum(2) / 3)
    targets = np.stack([points[:, 0] + 3, points[:, 1] ** 2], axis=1)
    return torch.from_numpy(kernel), torch.from_numpy(targets)


def refitted(kernel, targets, row, ridge):
    """What one row is predicted from the others by scikit-learn, their mean taken off."""
    others = np.delete(np.arange(len(kernel)), row)
    # The mean of all rows is what the formulas leave in place.
    mean = targets.mean(0)
    model = KernelRidge(alpha=ridge, kernel="precomputed")
    model.fit(kernel[np.ix_(others, others)], targets[others] - mean)
    return mean + model.predict(kernel[row : row + 1][:, others])[0]


def test_rows_left_out_are_predicted_as_by_fitting_the_others(problem):
    kernel, targets = problem
    found = regression(kernel, targets, 0.1)
    for row in range(len(kernel)):
        expected = refitted(kernel.numpy(), targets.numpy(), row, 0.1)
        np.testing.assert_allclose(found.left_out[row], expected, rtol=1e-8)


def test_coefficients_are_those_of_scikit_learn(problem):
    kernel, targets = problem
    model = KernelRidge(alpha=0.3, kernel="precomputed")
    model.fit(kernel.numpy(), (targets - targets.mean(0)).numpy())
    found = regression(kernel, targets, 0.3)
    np.testing.assert_allclose(found.coefficients, model.dual_coef_, rtol=1e-8)
    np.testing.assert_allclose(found.offset, targets.mean(0))


def test_an_unknown_target_changes_nothing_but_itself(problem):
    kernel, targets = problem
    some = targets.clone()
    some[3, 1] = torch.nan
    known = [row for row in range(12) if row != 3]
    found, alone = regression(kernel, some, 0.1), regression(kernel[known][:, known],
                                                            targets[known][:, 1:], 0.1)  # fmt: skip
    whole = regression(kernel, targets, 0.1)
    torch.testing.assert_close(found.coefficients[:, 0], whole.coefficients[:, 0])
    torch.testing.assert_close(found.coefficients[known, 1], alone.coefficients[:, 0])
    assert found.coefficients[3, 1] == 0
    assert found.left_out.isnan().nonzero().tolist() == [[3, 1]]


def test_a_column_without_known_targets_is_predicted_by_zero(problem):
    kernel, targets = problem
    found = regression(kernel, torch.full_like(targets, torch.nan), 0.1)
    assert found.coefficients.eq(0).all()
    assert found.offset.eq(0).all()
