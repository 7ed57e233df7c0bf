import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.attention.sparse_reference import sparse_attention


def masked_dense_softmax(query, key, value, matrix, scale):
    """The oracle: the whole score matrix, minus infinity where N has no entry."""
    scores = torch.einsum("rph,sph->hrs", query, key) * scale * matrix
    scores = scores.masked_fill(matrix == 0, -torch.inf)
    empty = (matrix == 0).all(dim=1)
    weights = scores.masked_fill(empty[:, None], 0).softmax(-1).masked_fill(empty[:, None], 0)
    return torch.einsum("hrs,svh->rvh", weights, value)


@pytest.mark.parametrize("binary", [False, True])
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.integers(0, 7), st.integers(0, 7), st.floats(0, 1))
def test_values_and_gradients_equal_a_masked_dense_softmax(
    tokens, random_neighborhood, dense_matrix, binary, seed, receivers, senders, density
):
    query, key, value = tokens(seed, receivers, senders)
    neighborhood = random_neighborhood(seed, receivers, senders, density)
    neighborhood = neighborhood.binary() if binary else neighborhood
    output = sparse_attention(query, key, value, neighborhood, scale=0.6)
    expected = masked_dense_softmax(query, key, value, dense_matrix(neighborhood), 0.6)
    torch.testing.assert_close(output, expected)
    upstream = torch.randn_like(output)
    gradients = torch.autograd.grad(output, (query, key, value), upstream)
    for got, want in zip(
        gradients, torch.autograd.grad(expected, (query, key, value), upstream), strict=True
    ):
        torch.testing.assert_close(got, want)


def test_gradients_pass_gradcheck(tokens, random_neighborhood):
    neighborhood = random_neighborhood(3, 4, 5)
    assert torch.autograd.gradcheck(
        lambda q, k, v: sparse_attention(q, k, v, neighborhood, scale=0.5), tokens(0, 4, 5)
    )


def test_a_receiver_without_neighbors_gets_exactly_zero_and_finite_gradients(
    tokens, random_neighborhood
):
    query, key, value = tokens(0, 3, 4, dtype=torch.float32)
    output = sparse_attention(query, key, value, random_neighborhood(0, 3, 4, density=0))
    assert torch.equal(output, torch.zeros(3, 4, 2))
    output.square().sum().backward()
    for tensor in (query, key, value):
        assert torch.equal(tensor.grad, torch.zeros_like(tensor))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_with_scores_past_its_range_stays_finite(tokens, random_neighborhood, dtype):
    query, key, value = tokens(0, 6, 6, dtype=dtype)
    neighborhood = random_neighborhood(1, 6, 6)
    output = sparse_attention(200 * query, 200 * key, value, neighborhood)
    assert output.dtype == dtype
    output.sum().backward()
    assert all(
        torch.isfinite(tensor).all() for tensor in (output, query.grad, key.grad, value.grad)
    )


def test_the_same_input_gives_the_same_bits(tokens, random_neighborhood):
    neighborhood = random_neighborhood(1, 300, 300, density=0.05)

    def run():
        query, key, value = tokens(0, 300, 300, dtype=torch.float32)
        output = sparse_attention(query, key, value, neighborhood)
        return (output, *torch.autograd.grad(output.square().sum(), (query, key, value)))

    for first, second in zip(run(), run(), strict=True):
        assert torch.equal(first, second)


def test_dropout_drops_weights_and_scales_the_others(tokens, random_neighborhood):
    query, key, _ = tokens(0, 2000, 1)
    torch.manual_seed(0)
    neighborhood = random_neighborhood(0, 2000, 1, density=1)
    output = sparse_attention(query, key, torch.ones(1, 1, 2).double(), neighborhood, dropout=0.25)
    assert output.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert abs((output == 0).double().mean() - 0.25) < 0.03
