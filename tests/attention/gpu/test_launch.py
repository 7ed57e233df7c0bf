"""The kernels for a GPU, run by Triton's interpreter on a CPU, behind the operator's own door."""

import os
import subprocess
import sys
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.attention import operator as door
from cellformer.attention.arrows import ArrowAttention, ColumnBlock, Shape
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.dense.reference import dense_attention
from cellformer.attention.dense.sdpa import dense_sdpa_attention
from cellformer.attention.gpu.operands import SparseOperands
from cellformer.attention.gpu.operator import fused_sparse_attention
from cellformer.attention.operator import attend
from cellformer.attention.sparse_reference import sparse_attention
from cellformer.complexes.batches.neighborhood import Neighborhood
from operators import PRECISION, assert_close, bias_for, pair_values_for, results

launch = pytest.importorskip("cellformer.attention.gpu.launch")
pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize("dtype", PRECISION)
@settings(deadline=None, max_examples=6)
@given(
    st.integers(0, 999),
    st.integers(0, 4),
    st.integers(0, 12),
    st.floats(0, 1),
    st.integers(0, 5),
    st.sampled_from([1, 2, 3, 6, 8]),
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
    heads,
    kind,
    pair_width,
):
    inputs = tokens(seed, receivers, senders, head_width, heads, dtype)
    neighborhood = random_neighborhood(seed, receivers, senders, density)
    bias = bias_for(neighborhood, {"none": 0, "one": 1, "per head": heads}[kind], dtype)
    own = pair_values_for(neighborhood, pair_width, heads, dtype)
    got, expected = (
        results(operator, inputs, neighborhood, bias, own, scale=0.6)
        for operator in (fused_sparse_attention, sparse_attention)
    )
    assert_close(got, expected, PRECISION[dtype])


@pytest.mark.parametrize(("head_width", "heads"), [(700, 5), (5000, 2), (20, 300)])
def test_wide_rows_are_cut_into_blocks_of_heads(tokens, random_neighborhood, head_width, heads):
    assert launch.Blocks.of(head_width, head_width + 1, 0, heads).heads < heads
    inputs = tokens(0, 2, 3, head_width, heads)
    neighborhood = random_neighborhood(0, 2, 3, density=0.7)
    got, expected = (
        results(operator, inputs, neighborhood, bias_for(neighborhood, heads, torch.float64))
        for operator in (fused_sparse_attention, sparse_attention)
    )
    assert_close(got, expected, 1e-10)


def test_columns_of_a_larger_matrix_are_read_in_place(random_neighborhood):
    neighborhood = random_neighborhood(0, 9, 9)
    projected = torch.randn(9, 3 * 24, dtype=torch.float64, requires_grad=True)
    inputs = [part.view(9, 3, 8) for part in projected.split(24, dim=1)]
    assert all(launch._rows(rows) is rows for rows in inputs)
    got, expected = (
        results(operator, inputs, neighborhood)
        for operator in (fused_sparse_attention, sparse_attention)
    )
    assert_close(got, expected, 1e-10)


def test_other_layouts_and_broadcast_gradients_work_too(random_neighborhood):
    neighborhood = random_neighborhood(0, 9, 9)
    transposed = torch.randn(8, 3, 9, dtype=torch.float64, requires_grad=True)
    others = torch.randn(1, 3, 8).double().expand(9, 3, 8), torch.randn(9, 6, 8).double()[:, ::2]
    outputs = []
    for operator in (fused_sparse_attention, sparse_attention):
        output = operator(transposed.permute(2, 1, 0), *others, neighborhood)
        outputs.append((output, *torch.autograd.grad(output.sum(), transposed)))
    assert_close(*outputs, 1e-10)


@pytest.mark.parametrize(("columns", "dropout"), [(1, 0.0), (2, 0.4)])
def test_gradients_pass_gradcheck(tokens, random_neighborhood, columns, dropout):
    neighborhood = random_neighborhood(3, 2, 3, density=0.8)
    bias = bias_for(neighborhood, columns, torch.float64)

    def attention(query, key, value, bias, own):
        torch.manual_seed(3)
        return fused_sparse_attention(
            query,
            key,
            value,
            neighborhood,
            bias=bias,
            pair_values=own,
            scale=0.5,
            dropout=dropout,
        )

    own = pair_values_for(neighborhood, 2, 2, torch.float64)
    assert torch.autograd.gradcheck(attention, (*tokens(0, 2, 3, 2), bias, own), fast_mode=True)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_the_same_seed_drops_the_same_weights_as_on_a_cpu(tokens, random_neighborhood, share):
    inputs = tokens(0, 6, 12, heads=6)
    neighborhood = random_neighborhood(0, 6, 12, density=0.8)
    own = pair_values_for(neighborhood, 3, 6, torch.float64)
    got, expected = (
        results(operator, inputs, neighborhood, pair_values=own, scale=0.5, dropout=share)
        for operator in (fused_sparse_attention, attend)
    )
    assert_close(got, expected, 1e-10)


def test_dropout_follows_the_seed_of_torch(tokens, random_neighborhood):
    inputs, neighborhood = tokens(0, 9, 9, heads=4), random_neighborhood(0, 9, 9)
    run = partial(results, fused_sparse_attention, inputs, neighborhood, dropout=0.3)
    for first, second, other in zip(run(seed=1), run(seed=1), run(seed=2), strict=True):
        assert torch.equal(first, second)
        assert not torch.equal(first, other)


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
def test_half_precision_is_read_as_it_is_and_rounded_at_the_end(tokens, random_neighborhood, dtype):
    neighborhood = random_neighborhood(1, 9, 9)
    attention = partial(fused_sparse_attention, neighborhood=neighborhood, scale=0.5)
    halves = tokens(0, 9, 9, dtype=dtype)
    exact = [half.detach().float().requires_grad_() for half in halves]
    output, expected = (attention(*inputs) for inputs in (halves, exact))
    assert output.dtype == dtype
    # Triton's interpreter cuts off the digits that bfloat16 lacks; a GPU rounds.
    torch.testing.assert_close(output, expected.to(dtype), rtol=torch.finfo(dtype).eps, atol=0)
    gradients = torch.autograd.grad(output.sum(), halves)
    for one, other in zip(gradients, torch.autograd.grad(expected.sum(), exact), strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one.float(), other, rtol=0.03, atol=0.03)
    large = attention(200 * halves[0], 200 * halves[1], halves[2])
    assert all(torch.isfinite(each).all() for each in torch.autograd.grad(large.sum(), halves))


def test_nan_in_one_sender_reaches_its_receivers_only(tokens):
    neighborhood = Neighborhood(3, torch.tensor([0, 2, 3]), torch.tensor([0, 1, 2]), torch.ones(3))
    for broken in (1, 2):
        inputs = tokens(0, 2, 3, dtype=torch.float32)
        with torch.no_grad():
            inputs[broken][0] = torch.nan
        output = fused_sparse_attention(*inputs, neighborhood)
        assert output[0].isnan().all()
        assert torch.isfinite(output[1]).all()


def test_a_bias_of_minus_infinity_takes_pairs_out_even_all_of_a_first_block(tokens):
    count, out = 20, 12
    assert out > launch.MOST_PAIRS
    inputs = tokens(0, 1, count)
    whole = Neighborhood(count, torch.tensor([0, count]), torch.arange(count), torch.ones(count))
    bias = torch.where(whole.senders < out, -torch.inf, 0.0).unsqueeze(1).double()
    output = fused_sparse_attention(*inputs, whole, bias=bias)
    without = Neighborhood(
        count, torch.tensor([0, count - out]), whole.senders[out:], whole.weights[out:]
    )
    assert_close([output], [sparse_attention(*inputs, without)], 1e-10)
    gradients = torch.autograd.grad(output.sum(), inputs)
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_the_operator_passes_the_checks_of_torch(tokens, random_neighborhood, index):
    neighborhood = random_neighborhood(0, 3, 4)
    query, key, value = tokens(0, 3, 4, dtype=torch.float32)
    arguments = SparseOperands(
        query=query,
        key=key,
        value=value,
        offsets=neighborhood.offsets.to(index),
        senders=neighborhood.senders.to(index),
        weights=neighborhood.weights,
        transposed_offsets=None,
        transposed_receivers=None,
        transposed_pairs=None,
        bias=bias_for(neighborhood, 2, torch.float32),
        pair_value=pair_values_for(neighborhood, 3, 2, torch.float32),
        seed=torch.tensor([7]),
        scale=0.5,
        dropout=0.2,
    )
    torch.library.opcheck(torch.ops.cellformer.sparse_attention.default, tuple(arguments))


COMPILE = """
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from cellformer.attention.gpu import backward as gpu_backward
from cellformer.attention.gpu import forward as gpu_forward
from cellformer.attention.gpu import launch

POINTERS = {"seed": "*i64", "weights": "*fp32"}
POINTERS |= dict.fromkeys(("offsets", "senders", "receivers", "numbers"), "*i64")
ROWS = ("query", "key", "value", "output", "grad_output", "grad_query", "grad_key", "grad_value")
ALWAYS_PRECISE = (
    "bias", "pair_value", "log_sum_exp", "grad_score", "grad_pair", "mean_change"
)
for numbers, precise in (("bf16", "fp32"), ("fp32", "fp32"), ("fp64", "fp64")):
    width, heads = 12, 6
    blocks = launch.Blocks.of(width, width, 2, heads)
    types = POINTERS | dict.fromkeys(ROWS, f"*{numbers}")
    types |= dict.fromkeys(ALWAYS_PRECISE, f"*{precise}")
    constants = {
        "SCALE": 0.3, "THRESHOLD": 2**32 - 1, "FACTOR": 1.1, "HEAD_WIDTH": width,
        "VALUE_WIDTH": width, "PAIR_WIDTH": 2, "HEADS": heads, "PAIRS": blocks.pairs,
        "COLUMN_BLOCK": blocks.columns, "VALUE_BLOCK": blocks.value_columns,
        "PAIR_BLOCK": blocks.pair_columns,
        "HEAD_BLOCK": blocks.heads, "PRECISE": tl.float64 if precise == "fp64" else tl.float32,
    }
    for kernel in (
        gpu_forward.attention_forward,
        gpu_backward.attention_backward_receivers,
        gpu_backward.attention_backward_senders,
    ):
        names = kernel.arg_names
        signature = {
            name: "constexpr" if name in constants else types.get(name, "i32") for name in names
        }
        source = triton.compiler.ASTSource(
            kernel, signature, {(names.index(name),): value for name, value in constants.items()}
        )
        compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
        assert "atom" not in compiled.asm["ptx"], "an atomic addition is not deterministic"
        assert compiled.asm["cubin"]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Triton's compiler runs on Linux")
def test_the_kernels_compile_for_a_gpu_without_one_and_without_atomics(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", COMPILE], capture_output=True, text=True, env=environment
    )
    assert run.returncode == 0, run.stderr


def test_arrows_one_by_one_equal_the_reference(random_neighborhood):
    """As on a GPU, with one arrow after the other between columns of the same matrix."""
    matrix = torch.randn(9, 30, dtype=torch.float64, requires_grad=True)
    neighborhood = random_neighborhood(0, 9, 9)
    complexes = torch.zeros(9, dtype=torch.int64)
    layout = DenseBlocks.of(complexes, complexes, 1, neighborhood)
    theta = torch.tensor([0.7], dtype=torch.float64, requires_grad=True)
    arrows = [
        ArrowAttention(
            *(ColumnBlock(0, start + 4 * place) for place in range(3)),
            ColumnBlock(0, column),
            2,
            2,
            2,
            pattern,
            own_theta,
        )
        for start, column, pattern, own_theta in (
            (14, 6, neighborhood, None),
            (1, 0, layout, theta),
        )
    ]
    found = []
    for sparse, dense in (
        (fused_sparse_attention, dense_sdpa_attention),
        (sparse_attention, dense_attention),
    ):
        (output,) = door._one_by_one(
            [matrix], arrows, [Shape(9, 11)], partial(sparse, scale=0.5), partial(dense, scale=0.5)
        )
        found.append([output, *torch.autograd.grad(output.square().sum(), [matrix, theta])])
    assert_close(*found, 1e-10)


def test_a_cpu_needs_no_triton():
    script = (
        "import sys; sys.modules['triton'] = None\n"
        "import torch\n"
        "from cellformer.attention.operator import implementation\n"
        "assert implementation('cpu') == 'fused'\n"
        "assert implementation('cuda') == 'reference'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
