import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.dense.reference import dense_attention
from cellformer.attention.operator import attend, implementation, use_attention
from cellformer.attention.sparse_reference import sparse_attention


@pytest.fixture
def layout(random_neighborhood):
    one = torch.zeros(4, dtype=torch.int64)
    return DenseBlocks.of(one, one, 1, random_neighborhood(0, 4, 4))


def test_the_pattern_picks_the_implementation(tokens, random_neighborhood, layout):
    inputs, neighborhood = tokens(0, 4, 4), random_neighborhood(0, 4, 4)
    theta = torch.ones(1)
    with use_attention("reference"):
        sparse, dense = attend(*inputs, neighborhood), attend(*inputs, layout, theta=theta)
    assert torch.equal(sparse, sparse_attention(*inputs, neighborhood))
    assert torch.equal(dense, dense_attention(*inputs, layout, theta))
    torch.testing.assert_close(attend(*inputs, neighborhood), sparse)
    torch.testing.assert_close(attend(*inputs, layout, theta=theta), dense)


def test_rows_that_do_not_fit_the_pattern_are_an_error(tokens, random_neighborhood):
    with pytest.raises(ValueError, match="3 queries and 4 keys"):
        attend(*tokens(0, 3, 4), random_neighborhood(0, 4, 4))


def test_theta_goes_with_dense_attention_only(tokens, random_neighborhood, layout):
    with pytest.raises(ValueError, match="theta"):
        attend(*tokens(0, 4, 4), layout)
    with pytest.raises(ValueError, match="theta"):
        attend(*tokens(0, 4, 4), random_neighborhood(0, 4, 4), theta=torch.ones(1))


def test_autocast_leaves_the_softmax_in_float32(tokens, layout, random_neighborhood):
    inputs = tokens(0, 4, 4, dtype=torch.float32)
    for pattern, theta in ((layout, torch.ones(1)), (random_neighborhood(0, 4, 4), None)):
        plain = attend(*inputs, pattern, theta=theta)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(attend(*inputs, pattern, theta=theta), plain)


def test_the_reference_can_be_chosen_and_stands_in_on_other_devices(tokens, random_neighborhood):
    inputs, neighborhood = tokens(0, 4, 4), random_neighborhood(0, 4, 4)
    assert implementation("cpu") == "fused"
    assert implementation("meta") == "reference"
    assert implementation("cuda") == ("fused" if find_spec("triton") else "reference")
    with use_attention("reference"):
        assert implementation("cpu") == "reference"
        chosen = attend(*inputs, neighborhood, scale=0.3)
    assert torch.equal(chosen, sparse_attention(*inputs, neighborhood, scale=0.3))
    assert implementation("cpu") == "fused"


def test_a_bias_must_fit_pairs_and_heads_and_sparse_attention(tokens, random_neighborhood, layout):
    inputs, neighborhood = tokens(0, 4, 4), random_neighborhood(0, 4, 4)
    pairs = len(neighborhood.senders)
    for columns in (1, 2):
        attend(*inputs, neighborhood, bias=torch.zeros(pairs, columns))
    for shape in ((pairs, 3), (pairs - 1, 1)):
        with pytest.raises(ValueError, match="a bias of shape"):
            attend(*inputs, neighborhood, bias=torch.zeros(shape))
    with pytest.raises(ValueError, match="no place in dense attention"):
        attend(*inputs, layout, theta=torch.ones(1), bias=torch.zeros(pairs, 1))


def test_pair_values_must_fit_pairs_and_heads_and_sparse_attention(
    tokens, random_neighborhood, layout
):
    inputs, neighborhood = tokens(0, 4, 4), random_neighborhood(0, 4, 4)
    pairs = len(neighborhood.senders)
    output = attend(*inputs, neighborhood, pair_values=torch.zeros(pairs, 3, 2).double())
    assert output.shape == (4, 4 + 3, 2)
    with pytest.raises(ValueError, match="pair values of shape"):
        attend(*inputs, neighborhood, pair_values=torch.zeros(pairs - 1, 3, 2))
    with pytest.raises(ValueError, match="no place in dense attention"):
        attend(*inputs, layout, theta=torch.ones(1), pair_values=torch.zeros(pairs, 1, 2))


COMPILED = """
import torch
from cellformer.attention.operator import attend
from cellformer.complexes.batches.neighborhood import Neighborhood

torch.manual_seed(0)
inputs = [torch.randn(6, width, 4, requires_grad=True) for width in (3, 3, 5)]
neighborhood = Neighborhood(
    6, torch.tensor([0, 2, 2, 5, 6, 7, 9]), torch.tensor([0, 3, 1, 2, 5, 4, 4, 0, 1]), torch.ones(9)
)
bias = torch.randn(9, 1, requires_grad=True)

def run(*tensors):
    return attend(*tensors[:3], neighborhood, bias=tensors[3], scale=0.3, dropout=0.2)

results = []
for function in (run, torch.compile(run, backend="aot_eager", fullgraph=True)):
    torch.manual_seed(1)
    output = function(*inputs, bias)
    results.append((output, *torch.autograd.grad(output.square().sum(), (*inputs, bias))))
for plain, traced in zip(*results, strict=True):
    assert torch.equal(plain, traced)
print("the same")
"""


def test_torch_compile_takes_attention_as_one_graph():
    # In a process of its own: the checks of shapes in signatures cannot be compiled.
    run = subprocess.run(
        [sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False
    )
    assert run.stdout == "the same\n", run.stderr
