import numpy as np
import pytest

from cellformer.basics.rounding import narrowed


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([0.1, 0.2, np.nan], np.float32),
        ([300.15, 310.7, 290.2], np.float32),
        ([1e8 + 0.25, 1e8 + 0.5, np.nan], np.float64),
        ([1e8 + 0.25], np.float64),
        ([0.1, 0.1], np.float32),
        ([1e30, 3e30], np.float32),
        ([[1.0, 1e8 + 0.25], [2.0, 1e8 + 0.5]], np.float64),
        ([np.nan, np.nan], np.float32),
        ([1, 2, 3], np.float32),
        (np.zeros((3, 0)), np.float32),
        (np.zeros((0, 2)), np.float32),
    ],
)
def test_values_that_lie_close_together_far_from_zero_keep_64_bits(values, dtype):
    narrow = narrowed(np.asarray(values))
    assert narrow.dtype == dtype
    np.testing.assert_array_equal(narrow, np.asarray(values, dtype))
