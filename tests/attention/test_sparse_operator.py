from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.attention.sparse_operator import fused_sparse_attention
from cellformer.attention.sparse_reference import sparse_attention
from cellformer.complexes.neighborhood import Neighborhood
from operators import PRECISION, assert_close, bias_for, results


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", PRECISION)
@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 999),
    st.integers(0, 9),
    st.integers(0, 9),
    st.floats(0, 1),
    st.integers(0, 5),
    st.sampled_from([1, 2, 3, 4, 6, 8, 16]),
    st.sampled_from(["none", "one", "per head"]),
)
def test_values_and_gradients_equal_the_reference(
    tokens, random_neighborhood, dtype, seed, receivers, senders, density, head_width, heads, kind
):
    inputs = tokens(seed, receivers, senders, head_width, heads, dtype)
    neighborhood = random_neighborhood(seed, receivers, senders, density)
    bias = bias_for(neighborhood, {"none": 0, "one": 1, "per head": heads}[kind], dtype)
    got, expected = (
        results(operator, inputs, neighborhood, bias, scale=0.6)
        for operator in (fused_sparse_attention, sparse_attention)
    )
    assert_close(got, expected, PRECISION[dtype])


@pytest.mark.parametrize("dtype", PRECISION)
def test_columns_of_a_larger_matrix_are_read_in_place(random_neighborhood, dtype):
    neighborhood = random_neighborhood(0, 30, 30)
    projected = torch.randn(30, 3 * 24, dtype=dtype, requires_grad=True)
    inputs = [part.view(30, 3, 8) for part in projected.split(24, dim=1)]
    assert not inputs[1].is_contiguous()
    got, expected = (
        results(operator, inputs, neighborhood)
        for operator in (fused_sparse_attention, sparse_attention)
    )
    assert_close(got, expected, PRECISION[dtype])


def test_other_layouts_and_broadcast_gradients_work_too(random_neighborhood):
    neighborhood = random_neighborhood(0, 30, 30)
    transposed = torch.randn(8, 3, 30, requires_grad=True)
    inputs = [transposed.permute(2, 1, 0), torch.randn(1, 3, 8).expand(30, 3, 8)]
    inputs.append(torch.randn(30, 6, 8)[:, ::2])
    outputs = []
    for operator in (fused_sparse_attention, sparse_attention):
        output = operator(*inputs, neighborhood)
        outputs.append((output, *torch.autograd.grad(output.sum(), transposed)))
    assert_close(*outputs, 1e-5)


def test_gradients_pass_gradcheck(tokens, random_neighborhood):
    neighborhood = random_neighborhood(3, 4, 5)
    for columns in (1, 2):
        bias = bias_for(neighborhood, columns, torch.float64)
        assert torch.autograd.gradcheck(
            lambda q, k, v, b: fused_sparse_attention(q, k, v, neighborhood, bias=b, scale=0.5),
            (*tokens(0, 4, 5), bias),
        )


def test_gradients_under_dropout_pass_gradcheck_with_the_seed_held(tokens, random_neighborhood):
    neighborhood = random_neighborhood(3, 6, 5, density=0.8)

    def dropped(q, k, v):
        torch.manual_seed(3)
        return fused_sparse_attention(q, k, v, neighborhood, scale=0.5, dropout=0.4)

    inputs = tokens(0, 6, 5, heads=4)
    assert not torch.equal(dropped(*inputs), fused_sparse_attention(*inputs, neighborhood))
    assert torch.autograd.gradcheck(dropped, inputs)


def test_a_receiver_without_neighbors_gets_exactly_zero_and_finite_gradients(tokens):
    neighborhood = Neighborhood(3, torch.tensor([0, 0, 2, 2]), torch.tensor([0, 2]), torch.ones(2))
    inputs = tokens(0, 3, 3, dtype=torch.float32)
    output = fused_sparse_attention(*inputs, neighborhood)
    assert torch.equal(output[[0, 2]], torch.zeros_like(output[[0, 2]]))
    assert (output[1] != 0).all()
    query, key, value = torch.autograd.grad(output.square().sum(), inputs)
    assert torch.equal(query[[0, 2]], torch.zeros_like(query[[0, 2]]))
    for gradient in (key, value):
        assert torch.equal(gradient[1], torch.zeros_like(gradient[1]))
        assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_equals_float32_rounded_at_the_end(tokens, random_neighborhood, dtype):
    neighborhood = random_neighborhood(1, 20, 20)
    halves = tokens(0, 20, 20, dtype=dtype)
    output = fused_sparse_attention(*halves, neighborhood)
    exact = fused_sparse_attention(*(half.detach().float() for half in halves), neighborhood)
    assert output.dtype == dtype
    assert torch.equal(output, exact.to(dtype))
    output = fused_sparse_attention(200 * halves[0], 200 * halves[1], halves[2], neighborhood)
    gradients = torch.autograd.grad(output.sum(), halves)
    assert all(torch.isfinite(tensor).all() for tensor in (output, *gradients))


def test_any_number_of_threads_gives_the_same_bits(threads, tokens, random_neighborhood):
    inputs = tokens(0, 400, 400, head_width=8, heads=8, dtype=torch.float32)
    neighborhood = random_neighborhood(1, 400, 400, density=0.05)
    runs = []
    for count in (1, 2, 3, 4, 4):
        threads(count)
        runs.append(results(fused_sparse_attention, inputs, neighborhood, scale=0.3, dropout=0.1))
    for other in runs[1:]:
        for first, second in zip(runs[0], other, strict=True):
            assert torch.equal(first, second)


def test_nan_in_one_sender_reaches_its_receivers_only(tokens):
    neighborhood = Neighborhood(3, torch.tensor([0, 2, 3]), torch.tensor([0, 1, 2]), torch.ones(3))
    for broken in (1, 2):
        inputs = tokens(0, 2, 3, dtype=torch.float32)
        with torch.no_grad():
            inputs[broken][0] = torch.nan
        output = fused_sparse_attention(*inputs, neighborhood)
        assert output[0].isnan().all()
        assert torch.isfinite(output[1]).all()


def test_a_bias_of_minus_infinity_takes_a_pair_out(tokens, random_neighborhood):
    inputs = tokens(0, 5, 6, dtype=torch.float32)
    whole = random_neighborhood(0, 5, 6, density=1)
    bias = torch.where(whole.senders == 3, -torch.inf, 0.0).unsqueeze(1)
    output = fused_sparse_attention(*inputs, whole, bias=bias)
    rest = whole.senders != 3
    without = Neighborhood(6, torch.arange(6) * 5, whole.senders[rest], whole.weights[rest])
    assert_close([output], [fused_sparse_attention(*inputs, without)], 1e-6)
    gradients = torch.autograd.grad(output.sum(), inputs)
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_dropout_drops_its_share_of_weights_and_scales_the_others(tokens, random_neighborhood):
    query, key, _ = tokens(0, 4000, 1)
    neighborhood = random_neighborhood(0, 4000, 1, density=1)
    torch.manual_seed(0)
    run = partial(fused_sparse_attention, query, key, torch.ones(1, 1, 2).double(), neighborhood)
    output = run(dropout=0.25)
    assert output.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert abs((output == 0).double().mean().item() - 0.25) < 4 * (0.1875 / 8000) ** 0.5
    assert torch.equal(run(dropout=1.0), torch.zeros_like(output))


def test_dropout_follows_the_seed_of_torch(tokens, random_neighborhood):
    inputs, neighborhood = tokens(0, 50, 50, heads=4), random_neighborhood(0, 50, 50)
    run = partial(results, fused_sparse_attention, inputs, neighborhood, dropout=0.3)
    for first, second, other in zip(run(seed=1), run(seed=1), run(seed=2), strict=True):
        assert torch.equal(first, second)
        assert not torch.equal(first, other)


@pytest.mark.parametrize("dropout", [-0.1, 1.1])
def test_a_share_outside_0_to_1_is_an_error(tokens, random_neighborhood, dropout):
    with pytest.raises(ValueError, match="between 0 and 1"):
        fused_sparse_attention(*tokens(0, 3, 3), random_neighborhood(0, 3, 3), dropout=dropout)


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("with_bias", [False, True])
def test_the_operator_passes_the_checks_of_torch(tokens, random_neighborhood, index, with_bias):
    neighborhood = random_neighborhood(0, 5, 6)
    bias = bias_for(neighborhood, 2, torch.float32) if with_bias else None
    arguments = (
        *tokens(0, 5, 6, dtype=torch.float32),
        neighborhood.offsets.to(index),
        neighborhood.senders.to(index),
        neighborhood.weights,
        *(None, None, None),
        bias,
        torch.tensor([7]),
        0.5,
        0.2,
    )
    torch.library.opcheck(torch.ops.cellformer.sparse_attention.default, arguments)
