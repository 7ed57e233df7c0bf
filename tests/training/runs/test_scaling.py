import numpy as np
import torch

from cellformer.training.runs.scaling import Scaling


def test_scaled_targets_have_mean_zero_and_deviation_one_per_column():
    targets = np.random.default_rng(0).normal([3, -50], [0.1, 9], (200, 2)).astype(np.float32)
    scaled = Scaling.fit(targets).scale(torch.from_numpy(targets))
    assert torch.allclose(scaled.mean(0), torch.zeros(2), atol=1e-4)
    assert torch.allclose(scaled.std(0, correction=0), torch.ones(2), atol=1e-4)


def test_unscale_is_the_inverse_of_scale_and_keeps_missing_values():
    targets = torch.tensor([[1.0, 5.0], [2.0, float("nan")], [4.0, 5.0]])
    scaling = Scaling.fit(targets.numpy())
    back = scaling.unscale(scaling.scale(targets))
    assert torch.allclose(back, targets, equal_nan=True)


def test_missing_values_do_not_count_and_a_constant_column_is_only_shifted():
    scaling = Scaling.fit(np.array([[1.0, 5.0, np.nan], [np.nan, 5.0, np.nan], [3.0, 5.0, np.nan]]))
    assert scaling.mean == (2.0, 5.0, 0.0)
    assert scaling.deviation == (1.0, 1.0, 1.0)


def test_targets_that_flip_are_not_shifted():
    targets = np.array([[3.0, 0.0], [4.0, 0.0], [np.nan, 0.0]])
    scaling = Scaling.fit(targets, centered=False)
    assert scaling.mean == (0.0, 0.0)
    np.testing.assert_allclose(scaling.deviation, (12.5**0.5, 1.0))
    flipped = Scaling.fit(-targets, centered=False)
    assert flipped == scaling
