import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.dense.reference import dense_attention
from cellformer.complexes.batches.neighborhood import Neighborhood


def labels(counts, shuffle_seed=None):
    """The complex of each cell, complex after complex or shuffled."""
    numbers = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    if shuffle_seed is None:
        return numbers
    return numbers[
        torch.randperm(len(numbers), generator=torch.Generator().manual_seed(shuffle_seed))
    ]


def within_complexes(seed, receiver_complex, sender_complex):
    rng = np.random.default_rng(seed)
    same = receiver_complex[:, None] == sender_complex[None, :]
    return Neighborhood.from_matrix(sparse.csr_array(same.numpy() * rng.integers(0, 3, same.shape)))


def one_by_one(query, key, value, receiver_complex, sender_complex, matrix, theta, scale):
    """The oracle: a loop over complexes."""
    output = torch.zeros(len(query), *value.shape[1:], dtype=value.dtype)
    for number in receiver_complex.unique().tolist():
        rows = (receiver_complex == number).nonzero().squeeze(1)
        columns = (sender_complex == number).nonzero().squeeze(1)
        if len(columns):
            scores = scale * torch.einsum("rph,sph->hrs", query[rows], key[columns])
            scores = scores + theta[:, None, None] * matrix[rows][:, columns]
            mixed = torch.einsum("hrs,svh->rvh", scores.softmax(-1), value[columns])
            output = output.index_copy(0, rows, mixed)
    return output


SIZES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=5)


@pytest.mark.parametrize("shuffled", [False, True])
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), SIZES, st.sampled_from([1, 2]))
def test_values_and_gradients_equal_a_loop_over_complexes(
    tokens, dense_matrix, shuffled, seed, sizes, thetas
):
    receiver_complex = labels([r for r, _ in sizes], 1 if shuffled else None)
    sender_complex = labels([s for _, s in sizes], 2 if shuffled else None)
    query, key, value = tokens(seed, len(receiver_complex), len(sender_complex))
    theta = torch.linspace(0.5, 1.5, thetas, dtype=torch.float64).requires_grad_()
    neighborhood = within_complexes(seed, receiver_complex, sender_complex)
    layout = DenseBlocks.of(receiver_complex, sender_complex, len(sizes), neighborhood)
    output = dense_attention(query, key, value, layout, theta, scale=0.6)
    expected = one_by_one(
        query,
        key,
        value,
        receiver_complex,
        sender_complex,
        dense_matrix(neighborhood),
        theta,
        0.6,
    )
    torch.testing.assert_close(output, expected)
    inputs = (query, key, value, theta)
    if output.requires_grad:
        upstream = torch.randn_like(output)
        got = torch.autograd.grad(output, inputs, upstream)
        want = torch.autograd.grad(expected, inputs, upstream)
        for one, other in zip(got, want, strict=True):
            torch.testing.assert_close(one, other)


def test_gradients_pass_gradcheck(tokens):
    receiver_complex, sender_complex = labels([2, 3]), labels([1, 2])
    neighborhood = within_complexes(0, receiver_complex, sender_complex)
    layout = DenseBlocks.of(receiver_complex, sender_complex, 2, neighborhood)
    theta = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda q, k, v, t: dense_attention(q, k, v, layout, t, scale=0.5),
        (*tokens(0, 5, 3), theta),
    )


def test_a_receiver_whose_complex_has_no_sender_gets_exactly_zero(tokens):
    receiver_complex, sender_complex = labels([2, 3]), labels([2, 0])
    neighborhood = within_complexes(0, receiver_complex, sender_complex)
    layout = DenseBlocks.of(receiver_complex, sender_complex, 2, neighborhood)
    query, key, value = tokens(0, 5, 2)
    output = dense_attention(query, key, value, layout, torch.ones(1))
    assert torch.equal(output[2:], torch.zeros_like(output[2:]))
    assert (output[:2] != 0).all()
    output.square().sum().backward()
    assert torch.isfinite(query.grad).all()


def test_nan_in_one_complex_reaches_no_other_in_values_or_gradients(tokens):
    # Sizes 2 and 3 share a padded block, so the first complex has an empty slot there.
    receiver_complex = sender_complex = labels([2, 3])
    neighborhood = within_complexes(0, receiver_complex, sender_complex)
    layout = DenseBlocks.of(receiver_complex, sender_complex, 2, neighborhood)
    assert len(layout.blocks) == 1
    for broken in (0, 1, 2):
        inputs = tokens(0, 5, 5, dtype=torch.float32)
        with torch.no_grad():
            inputs[broken][:2] = torch.nan
        output = dense_attention(*inputs, layout, torch.ones(1))
        assert torch.isfinite(output[2:]).all()
        output[2:].sum().backward()
        for tensor in inputs:
            assert torch.isfinite(tensor.grad[2:]).all()


def test_another_content_of_one_complex_changes_no_bit_of_another(tokens):
    receiver_complex, sender_complex = labels([5, 17, 9]), labels([6, 4, 30])

    def run(seed):
        query, key, value = tokens(0, 31, 40, dtype=torch.float32)
        changed = tokens(seed, 31, 40, dtype=torch.float32)
        with torch.no_grad():
            query[:5], key[:6], value[:6] = changed[0][:5], changed[1][:6], changed[2][:6]
        neighborhood = within_complexes(seed, receiver_complex[:5], sender_complex[:6])
        rest = within_complexes(0, receiver_complex[5:], sender_complex[6:])
        whole = Neighborhood(
            40,
            torch.cat([neighborhood.offsets, neighborhood.offsets[-1] + rest.offsets[1:]]),
            torch.cat([neighborhood.senders, 6 + rest.senders]),
            torch.cat([neighborhood.weights, rest.weights]),
        )
        layout = DenseBlocks.of(receiver_complex, sender_complex, 3, whole)
        return dense_attention(query, key, value, layout, torch.ones(1))

    first, second = run(1), run(2)
    assert not torch.equal(first[:5], second[:5])
    assert torch.equal(first[5:], second[5:])


def test_a_neighborhood_across_complexes_is_an_error():
    neighborhood = Neighborhood.from_matrix(sparse.csr_array(np.ones((2, 2))))
    with pytest.raises(ValueError, match="complex 0 to one of complex 1"):
        DenseBlocks.of(labels([1, 1]), labels([1, 1]), 2, neighborhood)


def test_blocks_take_memory_of_like_sized_complexes_only():
    counts = [3] * 50 + [200]
    cells = labels(counts)
    layout = DenseBlocks.of(cells, cells, 51, within_complexes(0, cells, cells))
    slots = sum(block.weights.numel() for block in layout.blocks)
    assert slots == 50 * 8 * 8 + 224 * 224


def test_half_precision_with_scores_past_its_range_stays_finite(tokens):
    cells = labels([4, 7])
    layout = DenseBlocks.of(cells, cells, 2, within_complexes(0, cells, cells))
    for dtype in (torch.float16, torch.bfloat16):
        query, key, value = tokens(0, 11, 11, dtype=dtype)
        output = dense_attention(200 * query, 200 * key, value, layout, torch.ones(1, dtype=dtype))
        assert output.dtype == dtype
        output.sum().backward()
        assert all(
            torch.isfinite(tensor).all() for tensor in (output, query.grad, key.grad, value.grad)
        )
