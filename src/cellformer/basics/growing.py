"""An array that is written as its rows are made, however many there will be."""

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def save_rows(file: io.BufferedIOBase, parts: Iterable[NDArray[Any]]) -> None:
    """Writes what `numpy.save` writes of all parts together; one of them is in memory at a time.

    There is at least one part, and all have rows of one kind. ``file`` is seekable: the number of
    rows is written last, and NumPy leaves room for it.
    """
    rows, first = 0, None
    for part in parts:
        if first is None:
            first = part
            _write_head(file, part, 0)
        if (part.dtype, part.shape[1:]) != (first.dtype, first.shape[1:]):
            raise ValueError(
                f"rows of {part.dtype} and shape {part.shape[1:]} do not go on those of "
                f"{first.dtype} and shape {first.shape[1:]}"
            )
        file.write(np.ascontiguousarray(part).tobytes())
        rows += len(part)
    if first is None:
        raise ValueError("there is no part to write")
    file.seek(0)
    _write_head(file, first, rows)


def _write_head(file: io.BufferedIOBase, like: NDArray[Any], rows: int) -> None:
    shape = (rows, *like.shape[1:])
    head = {"descr": like.dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, head)
