"""Looking at attention while a model runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from cellformer.attention.weights import AttentionWeights

_record: ContextVar[list[AttentionWeights] | None] = ContextVar("attention record", default=None)


@contextmanager
def record_attention() -> Iterator[list[AttentionWeights]]:
    """Within this context, `attend` also appends its weights to the list, call after call.

    For pictures of a few complexes: the weights are computed once more, and all kept. What
    torch.compile has compiled records nothing.
    """
    record: list[AttentionWeights] = []
    before = _record.set(record)
    try:
        yield record
    finally:
        _record.reset(before)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def recording() -> list[AttentionWeights] | None:
    """The list to append to, or None, as usual."""
    return _record.get()
