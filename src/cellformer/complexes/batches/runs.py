"""Rows in runs, one run after the other, and how exported programs count them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from jaxtyping import Int64
from torch import Tensor

from cellformer.basics.compiling import constant_when_compiled

_exporting: ContextVar[bool] = ContextVar("exporting", default=False)


@contextmanager
def exporting() -> Iterator[None]:
    """Within this context, models compute with operators that other programs have too.

    What torch.export traces there runs without this package. The values are the same, but for
    rounding; they take longer.
    """
    before = _exporting.set(True)
    try:
        yield
    finally:
        _exporting.reset(before)


@constant_when_compiled
def is_exporting() -> bool:
    """Whether a model is traced to be exported, see `exporting`."""
    return _exporting.get()


def numbers_of(offsets: Int64[Tensor, " run_plus_1"], rows: int) -> Int64[Tensor, " row"]:
    """The number of the run that each of so many rows belongs to."""
    if is_exporting():
        # How often each row is an end, of which the first run begins at one.
        ends = offsets.new_zeros(rows + 1).index_add(0, offsets, torch.ones_like(offsets))
        return ends.cumsum(0)[:rows] - 1
    numbers = torch.arange(len(offsets) - 1, device=offsets.device)
    return numbers.repeat_interleave(offsets.diff(), output_size=rows)
