from itertools import pairwise

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.attention.cpu.rows import run_of_rows


@numba.njit
def _run(offsets, part, parts):
    return run_of_rows(offsets, part, parts)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 9))
def test_parts_cover_all_rows_once_and_none_has_much_more_work_than_its_share(degrees, parts):
    offsets = np.cumsum([0, *degrees])
    runs = [_run(offsets, part, parts) for part in range(parts)]
    assert runs[0][0] == 0
    assert runs[-1][1] == len(degrees)
    assert all(left[1] == right[0] for left, right in pairwise(runs))
    share = (offsets[-1] + len(degrees)) / parts
    for begin, end in runs:
        assert offsets[end] - offsets[begin] + end - begin <= share + max(degrees, default=0) + 2
