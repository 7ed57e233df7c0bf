import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cellformer.chemistry.fingerprints import fingerprint_counts
from cellformer.model.kernels import BLOCK, near_values, shared_counts
from tiny import SMILES


def by_hand(one, other, blocks):
    """The mean over the fingerprints of the sum of smaller by the sum of larger counts."""
    shares = []
    for mine, theirs in zip(np.split(one, blocks), np.split(other, blocks), strict=True):
        common = sum(min(int(a), int(b)) for a, b in zip(mine, theirs, strict=True))
        union = sum(max(int(a), int(b)) for a, b in zip(mine, theirs, strict=True))
        shares.append(common / union if union else 1.0)
    return np.mean(shares)


@given(
    arrays(np.uint8, st.tuples(st.integers(0, 4), st.just(5))),
    arrays(np.uint8, st.tuples(st.integers(0, 4), st.just(5))),
)
def test_shared_counts_are_those_of_a_loop(counts, others):
    found = shared_counts(torch.from_numpy(counts), torch.from_numpy(others))
    expected = [[by_hand(one, other, 1) for other in others] for one in counts]
    np.testing.assert_allclose(found, np.reshape(expected, (len(counts), len(others))), rtol=1e-6)


def test_each_fingerprint_counts_alike():
    counts = np.zeros((2, 2 * BLOCK), np.uint8)
    counts[:, 0], counts[0, BLOCK], counts[1, BLOCK + 1] = 200, 3, 200
    found = shared_counts(*[torch.from_numpy(counts)] * 2)
    assert found[0, 1] == pytest.approx(by_hand(counts[0], counts[1], 2)) == 0.5
    assert found.diagonal().tolist() == [1.0, 1.0]


def test_both_are_kernels_of_molecules():
    counts = torch.from_numpy(fingerprint_counts(SMILES))
    values = torch.from_numpy(np.random.default_rng(0).normal(size=(len(SMILES), 7)))
    for kernel in (shared_counts(counts, counts).double(), near_values(values, values)):
        torch.testing.assert_close(kernel, kernel.t())
        assert torch.linalg.eigvalsh(kernel).min() > -1e-6
        torch.testing.assert_close(kernel.diagonal(), torch.ones(len(SMILES)).double())


def test_near_values_fall_with_the_mean_square():
    values = torch.tensor([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    expected = np.exp([-0.0, -0.3 * 2, -0.3 * 4])
    np.testing.assert_allclose(near_values(values[:1], values)[0], expected, rtol=1e-6)
    assert near_values(values[:, :0], values[:, :0]).eq(1).all()
