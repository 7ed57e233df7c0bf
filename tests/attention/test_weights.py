import pytest
import torch

from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.operator import attend
from cellformer.attention.recording import record_attention
from cellformer.complexes.batches.neighborhood import Neighborhood

HEADS, WIDTH = 3, 4


@pytest.fixture
def neighborhood():
    """Five receivers, the fourth without neighbors, and six senders."""
    offsets = torch.tensor([0, 2, 3, 6, 6, 8])
    senders = torch.tensor([0, 2, 1, 0, 1, 2, 4, 5])
    return Neighborhood(6, offsets, senders, torch.tensor([1.0, 2, 1, 1, 3, 1, 1, 1]))


@pytest.fixture
def tokens():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n, WIDTH, HEADS, generator=generator) for n in (5, 6, 6)]


def averaged(record, value, receivers):
    """The values averaged by the weights, one pair at a time."""
    output = torch.zeros(receivers, WIDTH, HEADS)
    for receiver, sender, weights in zip(
        record.receivers.tolist(), record.senders.tolist(), record.weights, strict=True
    ):
        output[receiver] += weights * value[sender]
    return output


def test_sparse_weights_are_those_that_average_the_values(neighborhood, tokens):
    query, key, value = tokens
    bias = torch.randn(8, HEADS)
    with record_attention() as record:
        output = attend(query, key, value, neighborhood, bias=bias, scale=0.7)
    torch.testing.assert_close(averaged(record[0], value, 5), output)


@pytest.mark.parametrize("thetas", [1, HEADS])
def test_dense_weights_are_those_that_average_the_values(neighborhood, tokens, thetas):
    query, key, value = tokens
    receiver_complex, sender_complex = (
        torch.tensor([0, 0, 0, 1, 1]),
        torch.tensor([0] * 4 + [1] * 2),
    )
    blocks = DenseBlocks.of(receiver_complex, sender_complex, 2, neighborhood)
    theta = torch.linspace(0.5, 2, thetas)
    with record_attention() as record:
        output = attend(query, key, value, blocks, theta=theta, scale=0.7)
    (weights,) = record
    assert len(weights.receivers) == 3 * 4 + 2 * 2
    torch.testing.assert_close(averaged(weights, value, 5), output)
    sums = torch.zeros(5, HEADS).index_add(0, weights.receivers, weights.weights)
    torch.testing.assert_close(sums, torch.ones(5, HEADS))


def test_complexes_without_senders_have_no_dense_weights(tokens):
    none = Neighborhood(0, torch.zeros(6, dtype=torch.int64), torch.zeros(0, dtype=torch.int64),
                        torch.zeros(0))  # fmt: skip
    nobody = torch.zeros(0, dtype=torch.int64)
    blocks = DenseBlocks.of(torch.zeros(5, dtype=torch.int64), nobody, 1, none)
    query, key, value = tokens[0], tokens[1][:0], tokens[2][:0]
    with record_attention() as record:
        attend(query, key, value, blocks, theta=torch.ones(1))
    assert record[0].weights.shape == (0, HEADS)


def test_nothing_is_recorded_outside_and_the_output_is_the_same_inside(neighborhood, tokens):
    before = attend(*tokens, neighborhood)
    with record_attention() as record:
        inside = attend(*tokens, neighborhood)
        attend(*tokens, neighborhood)
    attend(*tokens, neighborhood)
    assert len(record) == 2
    assert torch.equal(before, inside)
