import gc
import weakref

import pytest
import torch

from cellformer.attention.cpu.bundles import Pairs, PairsBySender
from cellformer.attention.cpu.pattern import arrays_of
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.operator import attend


def shares(array, tensor):
    """Whether they are the same memory."""
    return array.ctypes.data == tensor.data_ptr()


def test_all_layers_find_the_same_arrays_and_a_backward_adds_the_transposed(random_neighborhood):
    pattern = random_neighborhood(0, 20, 30)
    forward = arrays_of(pattern, backward=False)
    assert arrays_of(pattern, backward=False) is forward
    backward = arrays_of(pattern, backward=True)
    assert backward is not forward
    assert arrays_of(pattern, backward=False) is arrays_of(pattern, backward=True) is backward
    assert backward.num_senders == 30
    there, made = backward.both_ways.by_sender, forward.both_ways.by_sender
    assert shares(there.offsets, pattern.transposed.offsets)
    assert (made.receivers == there.receivers).all()


def test_each_array_of_a_neighborhood_bears_the_name_of_its_tensor(random_neighborhood):
    pattern = random_neighborhood(0, 20, 30)
    arrays = arrays_of(pattern, backward=True)
    transposed, components = pattern.transposed, pattern.components
    for bundle, names in (
        (arrays.pairs, {name: getattr(pattern, name) for name in Pairs._fields}),
        (
            arrays.both_ways.by_sender,
            {name: getattr(transposed, name) for name in PairsBySender._fields},
        ),
        (
            arrays._tiles,
            {
                "work": components.pairs,
                "before": components.before,
                "receivers": components.receivers.order,
                "receiver_offsets": components.receivers.offsets,
                "senders": components.senders.order,
                "sender_offsets": components.senders.offsets,
            },
        ),
    ):
        assert set(names) == set(bundle._fields)
        assert all(shares(getattr(bundle, name), tensor) for name, tensor in names.items())


@pytest.mark.parametrize("dense", [False, True])
def test_the_arrays_live_as_long_as_the_pattern(random_neighborhood, tokens, dense):
    pattern = random_neighborhood(0, 9, 9)
    cells = torch.zeros(9, dtype=torch.long)
    theta = torch.ones(1) if dense else None
    if dense:
        pattern = DenseBlocks.of(cells, cells, 1, pattern)
    attend(*tokens(0, 9, 9), pattern, theta=theta).sum().backward()
    arrays, alive = weakref.ref(arrays_of(pattern, backward=True)), weakref.ref(pattern)
    assert arrays() is not None
    del pattern
    gc.collect()
    assert alive() is None
    assert arrays() is None
