import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.gaussian_process.kernels import Matern

from cellformer.chemistry.fingerprints import fingerprint_counts
from cellformer.model.descriptors.common_counts import common_counts
from cellformer.model.descriptors.kernels import (
    BLOCK,
    ROWS,
    KernelWeights,
    common_row_by_row,
    near_values,
    shared_by_products,
    shared_counts,
    steps_of,
)
from tiny import SMILES


def by_hand(one, other):
    """The sum of the smaller by the sum of the larger counts."""
    common = sum(min(int(a), int(b)) for a, b in zip(one, other, strict=True))
    union = sum(max(int(a), int(b)) for a, b in zip(one, other, strict=True))
    return common / union if union else 1.0


@given(
    arrays(np.uint8, st.tuples(st.integers(0, 4), st.just(5))),
    arrays(np.uint8, st.tuples(st.integers(0, 4), st.just(5))),
)
def test_shared_counts_are_those_of_a_loop(counts, others):
    found = shared_counts(torch.from_numpy(counts), torch.from_numpy(others))
    expected = [[by_hand(one, other) for other in others] for one in counts]
    shape = 1, len(counts), len(others)
    np.testing.assert_allclose(found, np.reshape(expected, shape), rtol=1e-6)


@given(
    arrays(np.uint8, st.tuples(st.integers(0, 4), st.just(6))),
    arrays(np.uint8, st.tuples(st.just(6), st.integers(0, 40))),
    st.sampled_from([1, 2, 3, 6]),
)
def test_what_is_compiled_counts_what_rows_count_one_by_one(counts, turned, width):
    counts, turned = torch.from_numpy(counts), torch.from_numpy(turned)
    expected = common_row_by_row(counts, turned, width)
    assert torch.equal(common_counts(counts, turned, width), expected)


def test_many_rows_are_compared_in_parts():
    counts = torch.randint(0, 3, (ROWS + 3, 4), dtype=torch.uint8)
    found, alone = shared_counts(counts, counts[:2]), shared_counts(counts[-1:], counts[:2])
    assert torch.equal(found[:, -1:], alone)


@given(
    arrays(np.uint8, st.tuples(st.integers(0, 4), st.just(5))),
    arrays(np.uint8, st.tuples(st.integers(0, 4), st.just(5)), elements=st.integers(0, 9)),
)
def test_products_find_the_same_shared_counts(counts, others):
    counts, others = torch.from_numpy(counts), torch.from_numpy(others)
    turned = others.t().contiguous()
    found = shared_by_products(counts, turned, steps_of(turned))
    torch.testing.assert_close(found, shared_counts(counts, others))


def test_each_fingerprint_is_compared_by_itself():
    counts = np.zeros((2, 2 * BLOCK), np.uint8)
    counts[:, 0], counts[0, BLOCK], counts[1, BLOCK + 1] = 200, 3, 200
    found = shared_counts(*[torch.from_numpy(counts)] * 2)
    assert found.tolist() == [[[1, 1], [1, 1]], [[1, 0], [0, 1]]]
    turned = torch.from_numpy(counts).t().contiguous()
    by_products = shared_by_products(torch.from_numpy(counts), turned, steps_of(turned))
    assert torch.equal(by_products, found)


def test_both_are_kernels_of_molecules():
    counts = torch.from_numpy(fingerprint_counts(SMILES))
    values = torch.from_numpy(np.random.default_rng(0).normal(size=(len(SMILES), 7)))
    for kernel in (*shared_counts(counts, counts).double(), near_values(values, values)):
        torch.testing.assert_close(kernel, kernel.t())
        assert torch.linalg.eigvalsh(kernel).min() > -1e-6
        torch.testing.assert_close(kernel.diagonal(), torch.ones(len(SMILES)).double(), atol=1e-5,
                                   rtol=0)  # fmt: skip


def test_near_values_are_those_of_scikit_learn():
    values = np.random.default_rng(0).normal(size=(6, 3))
    found = near_values(torch.from_numpy(values), torch.from_numpy(values[:4]))
    np.testing.assert_allclose(found, Matern(nu=1.5)(values, values[:4]), atol=1e-5)


def test_rows_are_alike_by_what_has_weight():
    shared, values = torch.rand(2, 3, 4), torch.randn(3, 2)
    others = torch.randn(4, 2)
    weights, scales = torch.tensor([0.2, 0.3, 0.5]), torch.tensor([1.0, 0.0])
    found = KernelWeights(weights, scales).alike(shared, values, others)
    near = near_values(values[:, :1], others[:, :1])
    torch.testing.assert_close(found, 0.2 * shared[0] + 0.3 * shared[1] + 0.5 * near)
    alone = KernelWeights(weights[:2], scales[:0]).alike(shared, values[:, :0], others[:, :0])
    torch.testing.assert_close(alone, 0.2 * shared[0] + 0.3 * shared[1])
