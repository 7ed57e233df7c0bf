import pytest
import torch

from cellformer.attention.dense_blocks import DenseBlocks
from cellformer.attention.dense_reference import dense_attention
from cellformer.attention.operator import attend
from cellformer.attention.sparse_reference import sparse_attention


@pytest.fixture
def layout(random_neighborhood):
    one = torch.zeros(4, dtype=torch.int64)
    return DenseBlocks.of(one, one, 1, random_neighborhood(0, 4, 4))


def test_the_pattern_picks_the_implementation(tokens, random_neighborhood, layout):
    inputs, neighborhood = tokens(0, 4, 4), random_neighborhood(0, 4, 4)
    assert torch.equal(attend(*inputs, neighborhood), sparse_attention(*inputs, neighborhood))
    theta = torch.ones(1)
    assert torch.equal(
        attend(*inputs, layout, theta=theta), dense_attention(*inputs, layout, theta)
    )


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
