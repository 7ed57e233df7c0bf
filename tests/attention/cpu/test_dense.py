import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.operator import attend, use_attention
from cellformer.complexes.batches.neighborhood import Neighborhood
from operators import HEADS, PRECISION


def layout(seed, receivers, senders, density=0.4):
    """Complexes with so many receivers and senders, whose cells lie in any order."""
    rng = np.random.default_rng(seed)
    owners = [
        rng.permutation(np.repeat(np.arange(len(counts)), counts))
        for counts in (receivers, senders)
    ]
    same = owners[0][:, None] == owners[1]
    counts = rng.integers(1, 4, same.shape) * (rng.random(same.shape) < density) * same
    return DenseBlocks.of(
        *(torch.from_numpy(owner) for owner in owners),
        len(receivers),
        Neighborhood.from_matrix(sparse.csr_array(counts)),
    )


def results(which, inputs, theta, pattern, **options):
    with use_attention(which):
        output = attend(*inputs, pattern, theta=theta, **options)
    slope = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).cos().view(output.shape)
    return output, *torch.autograd.grad((output * slope).sum(), [*inputs, theta])


def assert_close(got, expected, relative):
    scale = max(other.abs().max().item() if other.numel() else 0.0 for other in expected)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=relative * max(scale, 1e-3))


@pytest.mark.parametrize("dtype", PRECISION)
@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 999),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 7)), min_size=1, max_size=4),
    st.integers(0, 5),
    st.integers(0, 6),
    st.booleans(),
)
def test_values_and_gradients_equal_the_reference(
    tokens, dtype, seed, sizes, width, choice, shared
):
    heads = HEADS[dtype][choice]
    pattern = layout(seed, *zip(*sizes, strict=True))
    inputs = tokens(seed, pattern.num_receivers, pattern.num_senders, width, heads, dtype)
    theta = torch.linspace(-1, 1, 1 if shared else heads, dtype=dtype).requires_grad_()
    got, expected = (
        results(which, inputs, theta, pattern, scale=0.6)
        if pattern.blocks
        else [attend(*inputs, pattern, theta=theta)]
        for which in ("fused", "reference")
    )
    assert_close(got, expected, PRECISION[dtype])


@pytest.mark.parametrize("heads", [6, 16])
def test_a_complex_too_large_for_the_cache_is_done_in_blocks_of_receivers(tokens, heads):
    pattern = layout(1, [700, 3], [640, 2], density=0.02)
    assert 640 * 700 * heads > 2**15
    inputs = tokens(0, 703, 642, head_width=2, heads=heads)
    theta = torch.ones(1, dtype=torch.float64, requires_grad=True)
    got, expected = (results(w, inputs, theta, pattern) for w in ("fused", "reference"))
    assert_close(got, expected, 1e-10)


def test_gradients_pass_gradcheck_also_under_dropout_with_the_seed_held(tokens):
    pattern = layout(2, [3, 2], [2, 4])
    theta = torch.tensor([0.5, -0.3], dtype=torch.float64, requires_grad=True)

    def dropped(q, k, v, theta, share):
        torch.manual_seed(3)
        return attend(q, k, v, pattern, theta=theta, scale=0.5, dropout=share)

    inputs = (*tokens(0, 5, 6), theta)
    assert not torch.equal(dropped(*inputs, 0.4), dropped(*inputs, 0.0))
    for share in (0.0, 0.4):
        assert torch.autograd.gradcheck(lambda *given, share=share: dropped(*given, share), inputs)


def test_dropout_drops_its_share_of_weights_and_scales_the_others(tokens):
    pattern = layout(0, [4000], [1])
    query, key, _ = tokens(0, 4000, 1)
    torch.manual_seed(0)
    ones = torch.ones(1, 1, 2).double()
    output = attend(query, key, ones, pattern, theta=torch.ones(1).double(), dropout=0.25)
    assert output.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert abs((output == 0).double().mean().item() - 0.25) < 4 * (0.1875 / 8000) ** 0.5


def test_a_complex_does_not_see_the_others_and_threads_do_not_matter(tokens):
    sizes = [30, 40, 50, 200, 10]
    owner = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    nothing = torch.zeros(0)

    def pattern(owner, complexes):
        offsets = torch.zeros(len(owner) + 1, dtype=torch.int64)
        empty = Neighborhood(len(owner), offsets, nothing.long(), nothing)
        return DenseBlocks.of(owner, owner, complexes, empty)

    inputs = tokens(0, 330, 330, head_width=8, heads=8, dtype=torch.float32)
    theta = torch.ones(1, requires_grad=True)
    before, runs = torch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            runs.append(results("fused", inputs, theta, pattern(owner, 5)))
    finally:
        torch.set_num_threads(before)
    for other in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(runs[0], other, strict=True))
    alone = attend(*(rows[70:120] for rows in inputs), pattern(owner[70:120] * 0, 1), theta=theta)
    assert torch.equal(alone, runs[0][0][70:120])


def test_no_senders_give_exactly_zero_and_no_receivers_zero_gradients(tokens):
    pattern = layout(0, [2, 0], [0, 3])
    inputs = tokens(0, 2, 3, dtype=torch.float32)
    theta = torch.ones(1, requires_grad=True)
    output = attend(*inputs, pattern, theta=theta)
    assert torch.equal(output, torch.zeros_like(output))
    for gradient in torch.autograd.grad(output.sum(), [*inputs, theta]):
        assert torch.equal(gradient, torch.zeros_like(gradient))
