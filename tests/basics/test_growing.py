import io

import numpy as np
import pytest

from cellformer.basics.growing import save_rows


@pytest.mark.parametrize("sizes", [(3,), (0,), (7, 0, 100_001), (1,) * 12])
@pytest.mark.parametrize("dtype", ["float32", ">i8", "bool"])
def test_rows_in_parts_are_written_as_numpy_writes_them_together(sizes, dtype):
    parts = [np.arange(3 * size).reshape(size, 3).astype(dtype) for size in sizes]
    written, expected = io.BytesIO(), io.BytesIO()
    save_rows(written, iter(parts))
    np.save(expected, np.concatenate(parts).astype(dtype))
    assert written.getvalue() == expected.getvalue()


def test_rows_of_another_kind_and_no_parts_are_refused():
    with pytest.raises(ValueError, match=r"rows of int64 and shape \(2,\) do not go on"):
        save_rows(io.BytesIO(), [np.zeros((1, 3)), np.zeros((1, 2), np.int64)])
    with pytest.raises(ValueError, match="no part"):
        save_rows(io.BytesIO(), [])
