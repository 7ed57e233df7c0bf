import numpy as np
import pytest

from cellformer.complexes.features import Features, positions_of


@pytest.mark.parametrize(
    "values", [[1, 0, 2], np.array([1, 0, 2], np.uint8), np.array([[1], [0], [2]])]
)
def test_whole_numbers_are_discrete(values):
    features = Features.of(values, 3, "x")
    assert features.discrete.tolist() == [[1], [0], [2]]
    assert features.discrete.dtype == np.int64
    assert features.continuous.shape == (3, 0)


def test_booleans_are_discrete():
    assert Features.of([True, False], 2, "x").discrete.tolist() == [[1], [0]]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floating_point_numbers_are_continuous(kind):
    features = Features.of(np.array([[0.5, -1], [2, 3]], kind), 2, "x")
    assert features.continuous.tolist() == [[0.5, -1], [2, 3]]
    assert features.continuous.dtype == np.float32
    assert features.discrete.shape == (2, 0)


def test_nothing_gives_no_columns():
    features = Features.of(None, 4, "x")
    assert len(features) == 4
    assert features.discrete.shape == features.continuous.shape == (4, 0)


def test_features_pass_through():
    given = Features(np.ones((2, 1), np.int64), np.ones((2, 3), np.float32))
    assert Features.of(given, 2, "x") is given


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "x has 2 rows for 3 cells"),
        ([1, -2, 0], "x has a negative category"),
        ([1, 2**31, 0], "too large for 32 bits"),
        ([0.0, np.nan, 1.0], "not finite in row 1"),
        ([0.0, 1.0, np.inf], "not finite in row 2"),
        ([0.0, 1e200, 1.0], "not finite in row 1"),
        (["a", "b", "c"], "x must be numbers"),
        (np.zeros((3, 1, 1)), r"one row per cell, got shape \(3, 1, 1\)"),
        (Features.empty(2), "x has 2 rows for 3 cells"),
    ],
)
def test_wrong_values_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        Features.of(values, 3, "x")


def test_positions_become_float64():
    assert positions_of([(0, 1), (2, 3)], 2, "graph").dtype == np.float64
    assert positions_of(None, 2, "graph") is None


def test_signed_columns_are_values_beside_the_others_and_none_unless_given():
    features = Features.of([1, 0, 2], 3, "x")
    assert features.signed.shape == (3, 0)
    flows = features.with_signed([1, -2, 0])
    assert flows.signed.tolist() == [[1], [-2], [0]]
    assert flows.signed.dtype == np.float32
    assert flows.discrete is features.discrete
    assert flows.columns == (1, 0, 1)
    assert flows.take(np.array([1, 0])).signed.tolist() == [[-2], [1]]


def test_turning_cells_changes_the_signs_of_signed_columns_alone():
    features = Features.of([1.5, 2.5, 3.5], 3, "x").with_signed([1, 2, 0])
    turned = features.turned(np.array([1, -1, -1]))
    assert turned.signed.tolist() == [[1], [-2], [0]]
    assert not np.signbit(turned.signed[2, 0])  # a zero is the same either way, bit for bit
    assert turned.continuous is features.continuous


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], "flows has 2 rows for 3 cells"),
        ([0.0, np.nan, 1.0], "flows has a value that is not finite in row 1"),
        (np.zeros((3, 1, 1)), "one row per cell"),
    ],
)
def test_wrong_signed_values_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        Features.empty(3).with_signed(values, "flows")


def test_signed_values_of_given_features_are_checked():
    given = Features(np.zeros((2, 0), np.int64), np.zeros((2, 0), np.float32),
                     np.array([[0], [np.inf]], np.float32))  # fmt: skip
    with pytest.raises(ValueError, match="x: signed has a value that is not finite in row 1"):
        Features.of(given, 2, "x")
