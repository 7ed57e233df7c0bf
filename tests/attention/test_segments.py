from itertools import pairwise

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.attention.segments import gather_rows, segment_max, segment_sum


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 4), max_size=6), st.integers(0, 3))
def test_segments_equal_a_loop_over_slices(lengths, width):
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    rows = torch.randn(int(offsets[-1]), width, 2, dtype=torch.float64)
    total, largest = segment_sum(rows, offsets), segment_max(rows, offsets)
    assert total.shape == largest.shape == (len(lengths), width, 2)
    for number, (start, stop) in enumerate(pairwise(offsets)):
        torch.testing.assert_close(total[number], rows[start:stop].sum(0))
        expected = rows[start:stop].amax(0) if stop > start else torch.full((width, 2), -torch.inf)
        assert torch.equal(largest[number], expected.double())


def test_gathered_rows_equal_indexing_in_values_and_gradients():
    rows = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    index = torch.tensor([[4, 0, 0], [1, 4, 4]])
    weights = torch.randn(2, 3, 2, 3, dtype=torch.float64)
    gathered = gather_rows(rows, index)
    assert torch.equal(gathered, rows[index])
    (gradient,) = torch.autograd.grad((gathered * weights).sum(), rows)
    (expected,) = torch.autograd.grad((rows[index] * weights).sum(), rows)
    torch.testing.assert_close(gradient, expected)


def test_nothing_is_gathered_from_no_rows():
    assert gather_rows(torch.zeros(0, 2, 3), torch.zeros(0, dtype=torch.int64)).shape == (0, 2, 3)
