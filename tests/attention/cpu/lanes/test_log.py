import numpy as np
import pytest
from numba import njit

from cellformer.attention.cpu.lanes.log import log
from cellformer.attention.cpu.lanes.vectors import load, store, zeros


@njit
def logarithms(numbers, lanes, result):
    zero = zeros(numbers, lanes)
    for i in range(0, len(numbers), len(lanes)):
        store(result, i, log(load(numbers, i, zero)))


def evaluate(numbers, lanes=8):
    result = np.empty_like(numbers)
    logarithms(numbers, (0,) * lanes, result)
    return result


@pytest.mark.parametrize("lanes", [1, 8])
def test_float32_is_right_to_two_units_in_the_last_place(lanes):
    smallest = np.finfo(np.float32).smallest_normal
    numbers = np.geomspace(smallest, 3e38, 80_000).astype(np.float32)
    exact = np.log(numbers.astype(np.float64))
    assert (np.abs(evaluate(numbers, lanes) - exact) <= 2.4e-7 * np.abs(exact)).all()


def test_it_keeps_its_precision_near_one():
    numbers = (1 + np.linspace(-0.3, 0.4, 8000)).astype(np.float32)
    exact = np.log(numbers.astype(np.float64))
    assert (np.abs(evaluate(numbers) - exact) <= 2.4e-7 * np.abs(exact)).all()
    assert (evaluate(np.ones(8, np.float32)) == 0).all()


def test_float64_is_right_to_its_own_precision():
    numbers = np.geomspace(1e-300, 1e300, 800)
    np.testing.assert_allclose(evaluate(numbers), np.log(numbers), rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_numbers(dtype):
    numbers = np.array([0, 1, np.inf, np.nan], dtype)
    expected = [-np.inf, 0, np.inf, np.nan]
    np.testing.assert_array_equal(evaluate(numbers, lanes=1), np.array(expected, dtype))
