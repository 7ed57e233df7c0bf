from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from cellformer.attention.arrows import ArrowAttention, ColumnBlock, Shape
from cellformer.attention.cpu.operator import operands
from cellformer.attention.cpu.packing import Learned
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.operator import attend, attend_arrows, use_attention
from cellformer.attention.sparse_reference import sparse_attention
from cellformer.complexes.batches.neighborhood import Neighborhood
from operators import HEADS, PRECISION, assert_close, bias_for, pair_values_for, results


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
    st.integers(0, 6),
    st.sampled_from(["none", "one", "per head"]),
    st.integers(0, 5),
)
def test_values_and_gradients_equal_the_reference(
    tokens,
    random_neighborhood,
    dtype,
    seed,
    receivers,
    senders,
    density,
    head_width,
    choice,
    kind,
    pair_width,
):
    heads = HEADS[dtype][choice]
    inputs = tokens(seed, receivers, senders, head_width, heads, dtype)
    neighborhood = random_neighborhood(seed, receivers, senders, density)
    bias = bias_for(neighborhood, {"none": 0, "one": 1, "per head": heads}[kind], dtype)
    own = pair_values_for(neighborhood, pair_width, heads, dtype)
    got, expected = (
        results(operator, inputs, neighborhood, bias, own, scale=0.6)
        for operator in (attend, sparse_attention)
    )
    assert_close(got, expected, PRECISION[dtype])


@pytest.mark.parametrize("dtype", PRECISION)
def test_columns_of_a_larger_matrix_are_read_in_place(random_neighborhood, dtype):
    neighborhood = random_neighborhood(0, 30, 30)
    projected = torch.randn(30, 3 * 24, dtype=dtype, requires_grad=True)
    inputs = [part.view(30, 3, 8) for part in projected.split(24, dim=1)]
    assert not inputs[1].is_contiguous()
    got, expected = (
        results(operator, inputs, neighborhood) for operator in (attend, sparse_attention)
    )
    assert_close(got, expected, PRECISION[dtype])


def test_other_layouts_and_broadcast_gradients_work_too(random_neighborhood):
    neighborhood = random_neighborhood(0, 30, 30)
    transposed = torch.randn(8, 3, 30, requires_grad=True)
    inputs = [transposed.permute(2, 1, 0), torch.randn(1, 3, 8).expand(30, 3, 8)]
    inputs.append(torch.randn(30, 6, 8)[:, ::2])
    outputs = []
    for operator in (attend, sparse_attention):
        output = operator(*inputs, neighborhood)
        outputs.append((output, *torch.autograd.grad(output.sum(), transposed)))
    assert_close(*outputs, 1e-5)


def test_gradients_pass_gradcheck(tokens, random_neighborhood):
    neighborhood = random_neighborhood(3, 4, 5)
    for columns in (1, 2):
        bias = bias_for(neighborhood, columns, torch.float64)
        own = pair_values_for(neighborhood, 3, 2, torch.float64)
        assert torch.autograd.gradcheck(
            lambda q, k, v, b, p: attend(q, k, v, neighborhood, bias=b, pair_values=p, scale=0.5),
            (*tokens(0, 4, 5), bias, own),
        )


def test_gradients_under_dropout_pass_gradcheck_with_the_seed_held(tokens, random_neighborhood):
    neighborhood = random_neighborhood(3, 6, 5, density=0.8)

    def dropped(q, k, v, own):
        torch.manual_seed(3)
        return attend(q, k, v, neighborhood, pair_values=own, scale=0.5, dropout=0.4)

    inputs = [*tokens(0, 6, 5, heads=6), pair_values_for(neighborhood, 2, 6, torch.float64)]
    assert not torch.equal(
        dropped(*inputs), attend(*inputs[:3], neighborhood, pair_values=inputs[3])
    )
    assert torch.autograd.gradcheck(dropped, inputs)


def test_a_receiver_without_neighbors_gets_exactly_zero_and_finite_gradients(tokens):
    neighborhood = Neighborhood(3, torch.tensor([0, 0, 2, 2]), torch.tensor([0, 2]), torch.ones(2))
    inputs = tokens(0, 3, 3, dtype=torch.float32)
    output = attend(*inputs, neighborhood)
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
    output = attend(*halves, neighborhood)
    exact = attend(*(half.detach().float() for half in halves), neighborhood)
    assert output.dtype == dtype
    assert torch.equal(output, exact.to(dtype))
    output = attend(200 * halves[0], 200 * halves[1], halves[2], neighborhood)
    gradients = torch.autograd.grad(output.sum(), halves)
    assert all(torch.isfinite(tensor).all() for tensor in (output, *gradients))


def test_any_number_of_threads_gives_the_same_bits(threads, tokens, random_neighborhood):
    inputs = tokens(0, 400, 400, head_width=8, heads=8, dtype=torch.float32)
    neighborhood = random_neighborhood(1, 400, 400, density=0.05)
    own = pair_values_for(neighborhood, 2, 8, torch.float32)
    runs = []
    for count in (1, 2, 3, 4, 4):
        threads(count)
        runs.append(results(attend, inputs, neighborhood, pair_values=own, scale=0.3, dropout=0.1))
    for other in runs[1:]:
        for first, second in zip(runs[0], other, strict=True):
            assert torch.equal(first, second)


def test_nan_in_one_sender_reaches_its_receivers_only(tokens):
    neighborhood = Neighborhood(3, torch.tensor([0, 2, 3]), torch.tensor([0, 1, 2]), torch.ones(3))
    for broken in (1, 2):
        inputs = tokens(0, 2, 3, dtype=torch.float32)
        with torch.no_grad():
            inputs[broken][0] = torch.nan
        output = attend(*inputs, neighborhood)
        assert output[0].isnan().all()
        assert torch.isfinite(output[1]).all()


def test_a_bias_of_minus_infinity_takes_a_pair_out(tokens, random_neighborhood):
    inputs = tokens(0, 5, 6, dtype=torch.float32)
    whole = random_neighborhood(0, 5, 6, density=1)
    bias = torch.where(whole.senders == 3, -torch.inf, 0.0).unsqueeze(1)
    output = attend(*inputs, whole, bias=bias)
    rest = whole.senders != 3
    without = Neighborhood(6, torch.arange(6) * 5, whole.senders[rest], whole.weights[rest])
    assert_close([output], [attend(*inputs, without)], 1e-6)
    gradients = torch.autograd.grad(output.sum(), inputs)
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_dropout_drops_its_share_of_weights_and_scales_the_others(tokens, random_neighborhood):
    query, key, _ = tokens(0, 4000, 1)
    neighborhood = random_neighborhood(0, 4000, 1, density=1)
    torch.manual_seed(0)
    run = partial(attend, query, key, torch.ones(1, 1, 2).double(), neighborhood)
    output = run(dropout=0.25)
    assert output.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert abs((output == 0).double().mean().item() - 0.25) < 4 * (0.1875 / 8000) ** 0.5
    assert torch.equal(run(dropout=1.0), torch.zeros_like(output))


def test_dropout_follows_the_seed_of_torch(tokens, random_neighborhood):
    inputs, neighborhood = tokens(0, 50, 50, heads=6), random_neighborhood(0, 50, 50)
    run = partial(results, attend, inputs, neighborhood, dropout=0.3)
    for first, second, other in zip(run(seed=1), run(seed=1), run(seed=2), strict=True):
        assert torch.equal(first, second)
        assert not torch.equal(first, other)


@pytest.mark.parametrize("dropout", [-0.1, 1.1])
def test_a_share_outside_0_to_1_is_an_error(tokens, random_neighborhood, dropout):
    with pytest.raises(ValueError, match="between 0 and 1"):
        attend(*tokens(0, 3, 3), random_neighborhood(0, 3, 3), dropout=dropout)


@pytest.fixture
def layer(random_neighborhood):
    """A dense and two sparse arrows between 8 vertices and 6 edges of two complexes."""
    vertices = torch.arange(8) // 5
    within = random_neighborhood(0, 8, 8, density=0.6)
    inside = vertices[within.receivers] == vertices[within.senders]
    kept = torch.zeros(9, dtype=torch.int64)
    kept[1:] = vertices.new_tensor(
        [int(inside[within.receivers == row].sum()) for row in range(8)]
    ).cumsum(0)
    within = Neighborhood(8, kept, within.senders[inside], within.weights[inside])
    edge_to_vertex = random_neighborhood(1, 8, 6)
    vertex_to_edge = random_neighborhood(2, 6, 8)
    dense = DenseBlocks.of(vertices, vertices, 2, within)
    theta = torch.tensor([0.7], requires_grad=True)
    terms = bias_for(vertex_to_edge, 4 + 2 * 4, torch.float32)
    arrows = [
        ArrowAttention(
            ColumnBlock(0, 0),
            ColumnBlock(0, 8),
            ColumnBlock(0, 16),
            ColumnBlock(0, 0),
            2,
            2,
            4,
            dense,
            theta,
        ),
        ArrowAttention(
            ColumnBlock(0, 24),
            ColumnBlock(1, 0),
            ColumnBlock(1, 8),
            ColumnBlock(0, 12),
            2,
            3,
            4,
            edge_to_vertex,
        ),
        ArrowAttention(
            ColumnBlock(1, 20),
            ColumnBlock(0, 32),
            ColumnBlock(0, 40),
            ColumnBlock(1, 0),
            2,
            1,
            4,
            vertex_to_edge,
            None,
            terms,
        ),
    ]
    matrices = [torch.randn(8, 44, requires_grad=True), torch.randn(6, 30, requires_grad=True)]
    return matrices, arrows, [Shape(8, 24), Shape(6, 12)], [theta, terms]


def test_several_arrows_between_columns_equal_the_reference(layer):
    matrices, arrows, outputs, learned = layer
    found = []
    for which in ("fused", "reference"):
        with use_attention(which):
            received = attend_arrows(matrices, arrows, outputs, scale=0.6)
        loss = sum(part.square().sum() + part.sum() for part in received)
        found.append([*received, *torch.autograd.grad(loss, [*matrices, *learned])])
    assert_close(*found, 1e-5)
    assert torch.equal(found[0][0][:, 8:12], torch.zeros(8, 4))  # no arrow writes there
    assert torch.equal(found[0][3][:, 28:], torch.zeros(6, 2))  # nor reads here


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_the_operator_passes_the_checks_of_torch(layer, index):
    matrices, arrows, outputs, _ = layer
    given = operands(matrices, arrows, outputs, torch.tensor([7]), 0.5, 0.2)
    leaves = {
        name: [tensor.detach().requires_grad_() for tensor in group]
        for name, group in given._asdict().items()
        if name in Learned._fields
    }
    indices = [t.to(index) if t.dtype == torch.int64 else t for t in given.indices]
    given = given._replace(indices=indices, **leaves)
    torch.library.opcheck(torch.ops.cellformer.attention.default, tuple(given))


class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_where_others_watch_the_operator_gives_the_same_numbers(random_neighborhood, tokens):
    neighborhood = random_neighborhood(0, 20, 20)
    inputs = tokens(0, 20, 20, 3, 8, torch.float32)
    alone = results(attend, inputs, neighborhood)
    with Watch():
        watched = results(attend, inputs, neighborhood)
    for got, expected in zip(watched, alone, strict=True):
        assert torch.equal(got, expected)


def test_it_refuses_to_be_differentiated_twice(random_neighborhood, tokens):
    inputs = tokens(0, 5, 5, 2, 2, torch.float64)
    output = attend(*inputs, random_neighborhood(0, 5, 5)).square().sum()
    (slope,) = torch.autograd.grad(output, inputs[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        slope.sum().backward()
