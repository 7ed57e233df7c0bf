"""Both forms of dense attention that are meant for a GPU, on a CPU against the reference."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend

from cellformer.attention.dense import memory
from cellformer.attention.dense.all_pairs import AllPairs
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.dense.reference import dense_attention
from cellformer.attention.dense.sdpa import dense_sdpa_attention
from cellformer.attention.gpu.dense_pairs import dense_pairs_attention
from cellformer.complexes.batches.neighborhood import Neighborhood

pytestmark = pytest.mark.usefixtures("interpreted")  # which the attention over all pairs needs
SIZES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=5)


def by_pairs(query, key, value, layout, theta, **options):
    return dense_pairs_attention(query, key, value, AllPairs.of(layout), theta, **options)


def layout_of(random_neighborhood, seed, sizes):
    """The cells of each rank shuffled among the complexes, some pairs of them with weights."""
    generator = torch.Generator().manual_seed(seed)
    complexes = []
    for side in zip(*sizes, strict=True):
        numbers = torch.arange(len(side)).repeat_interleave(torch.tensor(side))
        complexes.append(numbers[torch.randperm(len(numbers), generator=generator)])
    every = random_neighborhood(seed, len(complexes[0]), len(complexes[1]), density=0.6)
    inside = complexes[0][every.receivers] == complexes[1][every.senders]
    counts = every.receivers[inside].bincount(minlength=len(complexes[0]))
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    neighborhood = Neighborhood(
        len(complexes[1]), offsets, every.senders[inside], every.weights[inside]
    )
    return DenseBlocks.of(*complexes, len(sizes), neighborhood)


def results(attention, inputs, theta, layout, **options):
    output = attention(*inputs, layout, theta, scale=0.6, **options)
    slope = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).cos().view(output.shape)
    if not output.requires_grad:
        return (output,)
    return output, *torch.autograd.grad((output * slope).sum(), [*inputs, theta])


def check_against_reference(
    attention, tokens, random_neighborhood, seed, sizes, thetas=1, head_width=3
):
    layout = layout_of(random_neighborhood, seed, sizes)
    inputs = tokens(seed, layout.num_receivers, layout.num_senders, head_width)
    theta = torch.linspace(0.5, 1.5, thetas, dtype=torch.float64).requires_grad_()
    got = results(attention, inputs, theta, layout)
    expected = results(dense_attention, inputs, theta, layout)
    torch.testing.assert_close(got[0], expected[0])
    for one, other in zip(got[1:], expected[1:], strict=False):  # without pairs there are none
        torch.testing.assert_close(one, other)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 999), SIZES, st.sampled_from([1, 2]), st.sampled_from([3, 8]))
def test_values_and_gradients_equal_the_reference(
    tokens, random_neighborhood, seed, sizes, thetas, head_width
):
    check_against_reference(
        dense_sdpa_attention, tokens, random_neighborhood, seed, sizes, thetas, head_width
    )


@pytest.mark.parametrize("sizes", [[(3, 9), (0, 2), (5, 4)], [(2, 0)]])
@pytest.mark.parametrize("thetas", [1, 2])
def test_values_and_gradients_by_pairs_equal_the_reference(
    tokens, random_neighborhood, sizes, thetas
):
    check_against_reference(by_pairs, tokens, random_neighborhood, 3, sizes, thetas)


def test_what_does_not_fit_into_memory_is_refused(tokens, random_neighborhood, monkeypatch):
    layout = layout_of(random_neighborhood, 0, [(9, 7), (3, 4)])
    monkeypatch.setattr(memory, "SURELY_FITS", 0)
    monkeypatch.setattr(memory, "free_memory", lambda device: 4 * 3 * 75 - 1)
    with pytest.raises(memory.DenseMemoryError, match="complex 0 of the batch has 9 x 7"):
        dense_sdpa_attention(*tokens(0, 12, 11), layout, torch.ones(1))
    monkeypatch.setattr(memory, "free_memory", lambda device: 4 * 3 * 75)
    dense_sdpa_attention(*tokens(0, 12, 11), layout, torch.ones(1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("attention", [dense_sdpa_attention, by_pairs])
def test_half_precision_is_close_and_keeps_its_type(tokens, random_neighborhood, attention, dtype):
    layout = layout_of(random_neighborhood, 0, [(9, 7), (3, 4)])
    inputs, theta = tokens(0, 12, 11, dtype=dtype), torch.ones(1)
    output = attention(*inputs, layout, theta, scale=0.6)
    assert output.dtype == dtype
    expected = dense_attention(*inputs, layout, theta, scale=0.6)
    torch.testing.assert_close(output, expected, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("attention", [dense_sdpa_attention, by_pairs])
@pytest.mark.parametrize("broken", [1, 2])
def test_nan_in_the_cell_that_fills_empty_slots_stays_in_its_complex(
    tokens, random_neighborhood, attention, broken
):
    layout = layout_of(random_neighborhood, 0, [(2, 3), (4, 5)])
    inputs = tokens(0, 6, 8)
    with torch.no_grad():
        inputs[broken][0] = torch.nan
    (block,) = layout.blocks
    hers = int((block.senders == 0).logical_and(block.has_sender).any(1).nonzero())
    own = block.receivers[hers][block.has_receiver[hers]]
    output = attention(*inputs, layout, torch.ones(1).double())
    assert output[own].isnan().all()
    assert output.isnan().any(dim=(1, 2)).sum() == len(own)


def test_dropout_drops_its_share_and_scales_the_others(tokens, random_neighborhood):
    layout = layout_of(random_neighborhood, 0, [(2000, 1), (2000, 1)])
    query, key, _ = tokens(0, 4000, 2)
    value = torch.ones(2, 1, 2, dtype=torch.float64)
    torch.manual_seed(0)
    output = dense_sdpa_attention(query, key, value, layout, torch.ones(1).double(), dropout=0.25)
    assert output.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert abs((output == 0).double().mean().item() - 0.25) < 4 * (0.1875 / 8000) ** 0.5


def test_the_backend_is_a_choice(tokens, random_neighborhood):
    layout = layout_of(random_neighborhood, 0, [(9, 7)])
    with pytest.raises(RuntimeError, match="backend"):  # none of cuDNN's on a CPU
        dense_sdpa_attention(
            *tokens(0, 9, 7), layout, torch.ones(1), backends=[SDPBackend.CUDNN_ATTENTION]
        )
