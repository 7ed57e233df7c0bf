import torch

from cellformer.attention.heads import merge_heads, split_heads


def test_heads_come_last_and_merge_again():
    cells = torch.arange(24.0).reshape(2, 12)
    split = split_heads(cells, 4)
    assert split.shape == (2, 3, 4)
    assert split[1, 2, 3] == cells[1, 2 * 4 + 3]
    assert torch.equal(merge_heads(split), cells)


def test_no_cells_split_too():
    assert split_heads(torch.zeros(0, 12), 4).shape == (0, 3, 4)
