import numpy as np
import pytest
from numba import njit

from cellformer.attention.cpu.lanes.dropout import kept, pair_key
from cellformer.attention.cpu.lanes.vectors import store, zeros


@njit
def fill(seed, pairs, heads, threshold, factor, lanes, result):
    zero = zeros(result, lanes)
    for pair in range(pairs):
        key = pair_key(seed, pair)
        for head in range(0, heads, len(lanes)):
            store(result, pair * heads + head, kept(key, head, threshold, factor, zero))


def mask(seed=0, pairs=4000, heads=8, share=0.3, lanes=8):
    result = np.empty(pairs * heads, np.float32)
    fill(seed, pairs, heads, np.uint32(share * 2**32), 2.0, (0,) * lanes, result)
    return result.reshape(pairs, heads)


def scalar_mask(seed, pairs, heads, share):
    """The oracle: the same generators in Python's integers."""

    def splitmix64(state):
        bits = state % 2**64
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % 2**64
        return bits ^ (bits >> 31)

    def lowbias32(bits):
        bits = (bits ^ (bits >> 16)) * 0x7FEB352D % 2**32
        bits = (bits ^ (bits >> 15)) * 0x846CA68B % 2**32
        return bits ^ (bits >> 16)

    result = np.empty((pairs, heads), np.float32)
    for pair in range(pairs):
        key = splitmix64(seed + (pair + 1) * 0x9E3779B97F4A7C15)
        for head in range(heads):
            bits = lowbias32((key + head * 0x9E3779B9) % 2**32)
            result[pair, head] = 2.0 * (lowbias32(bits ^ (key >> 32)) >= int(share * 2**32))
    return result


@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_numbers_equal_python_integers_for_any_number_of_lanes(lanes):
    seed = 2**62 + 12345
    expected = scalar_mask(seed, 50, 16, 0.4)
    np.testing.assert_array_equal(mask(seed, 50, 16, 0.4, lanes), expected)


def test_the_share_of_dropped_weights_is_right_in_every_head():
    dropped = mask(share=0.3) == 0
    assert abs(dropped.mean() - 0.3) < 4 * np.sqrt(0.21 / dropped.size)
    assert (np.abs(dropped.mean(axis=0) - 0.3) < 4 * np.sqrt(0.21 / len(dropped))).all()


def test_heads_neighboring_pairs_and_seeds_are_not_correlated():
    dropped = (mask(seed=1) == 0).astype(float)
    others = {
        "pair": (dropped[:-1], dropped[1:]),
        "head": (dropped[:, :-1], dropped[:, 1:]),
        "seed": (dropped, (mask(seed=2) == 0).astype(float)),
    }
    for name, (left, right) in others.items():
        correlation = np.corrcoef(left.ravel(), right.ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(left.size), name
