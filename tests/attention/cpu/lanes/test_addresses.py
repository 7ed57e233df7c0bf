from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from cellformer.attention.cpu.lanes.addresses import beyond, by_address


class Inner(NamedTuple):
    """Of a bundle: one array and one number."""

    numbers: Any
    factor: float


class Outer(NamedTuple):
    """A bundle in which all kinds of things lie."""

    inner: Inner
    others: Any
    length: int


@njit
def add_up(outer):
    """Writes to one array of a bundle, by address, what the other one and the numbers say."""
    at = by_address(outer)
    for i in range(at.length):
        at.others[i] += at.inner.factor * at.inner.numbers[i]
    return at.length, at.inner.factor


@njit
def element(numbers, place):
    """One element, reached in two steps."""
    return beyond(by_address(numbers), place - 1)[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_a_bundle_and_of_those_in_it_are_read_and_written_in_place(dtype):
    others = np.ones(4, dtype)
    outer = Outer(inner=Inner(np.arange(4, dtype=dtype), 0.5), others=others, length=3)
    assert add_up(outer) == (3, 0.5)
    assert others.tolist() == [1, 1.5, 2, 1]


def test_a_bundle_of_arrays_of_one_type_keeps_its_names():
    @njit
    def second(bundle):
        return by_address(bundle).factor[0]

    assert second(Inner(np.zeros(1), np.full(1, 7.0))) == 7


def test_an_address_can_be_moved_on():
    assert [element(np.arange(5), place) for place in (1, 4)] == [1, 4]


def test_an_array_whose_numbers_are_apart_is_refused():
    with pytest.raises(TypingError, match="a flat contiguous array is needed"):
        element(np.arange(8)[::2], 1)
