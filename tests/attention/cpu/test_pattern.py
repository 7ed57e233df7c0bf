import gc
import weakref

import pytest
import torch

from cellformer.attention.cpu.pattern import arrays_of
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.operator import attend


def test_all_layers_find_the_same_arrays_and_a_backward_adds_the_transposed(random_neighborhood):
    pattern = random_neighborhood(0, 20, 30)
    forward = arrays_of(pattern, backward=False)
    assert arrays_of(pattern, backward=False) is forward
    backward = arrays_of(pattern, backward=True)
    assert backward is not forward
    assert arrays_of(pattern, backward=False) is arrays_of(pattern, backward=True) is backward
    assert backward.num_senders == 30
    assert backward.transposed.offsets.ctypes.data == pattern.transposed.offsets.data_ptr()
    assert (forward.transposed.receivers == backward.transposed.receivers).all()


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
