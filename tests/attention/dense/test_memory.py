import pytest
import torch

from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.attention.dense.memory import DenseMemoryError, free_memory
from cellformer.attention.dense.reference import dense_attention
from cellformer.complexes.batches.neighborhood import Neighborhood


def test_the_reference_refuses_a_huge_complex_before_memory_fills():
    cells = 3_000_002
    owner = (torch.arange(cells) >= 2).long()
    offsets = torch.zeros(cells + 1, dtype=torch.int64)
    empty = Neighborhood(cells, offsets, offsets[:0], torch.zeros(0))
    rows = torch.zeros(cells, 1, 1)
    layout = DenseBlocks.of(owner, owner, 2, empty)  # 36 TB for N alone
    with pytest.raises(DenseMemoryError, match=r"complex 1 of the batch .* use sparse attention"):
        dense_attention(rows, rows, rows, layout, torch.ones(1))


def test_memory_is_free_but_not_without_end():
    assert 0 < free_memory() < 2**50
