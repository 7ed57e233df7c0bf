import numpy as np
import pytest
from numba import njit

from cellformer.attention.cpu.lanes.exp import exp
from cellformer.attention.cpu.lanes.vectors import load, store, zeros


@njit
def exponentials(numbers, lanes, result):
    zero = zeros(numbers, lanes)
    for i in range(0, len(numbers), len(lanes)):
        store(result, i, exp(load(numbers, i, zero)))


def evaluate(numbers, lanes=8):
    result = np.empty_like(numbers)
    exponentials(numbers, (0,) * lanes, result)
    return result


@pytest.mark.parametrize("lanes", [1, 8])
def test_float32_is_right_to_two_units_in_the_last_place(lanes):
    numbers = np.linspace(-87.2, 88.2, 80_000, dtype=np.float32)
    exact = np.exp(numbers.astype(np.float64))
    assert np.abs(evaluate(numbers, lanes) / exact - 1).max() < 2.4e-7


def test_float64_is_right_to_its_own_precision():
    numbers = np.linspace(-700, 700, 800)
    np.testing.assert_allclose(evaluate(numbers), np.exp(numbers), rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_numbers_and_both_ends_of_the_range(dtype):
    numbers = np.array([-np.inf, -1e30, -800, 0, 800, 1e30, np.inf, np.nan], dtype)
    expected = [0, 0, 0, 1, np.inf, np.inf, np.inf, np.nan]
    np.testing.assert_array_equal(evaluate(numbers), np.array(expected, dtype))
