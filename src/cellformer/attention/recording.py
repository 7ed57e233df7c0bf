"""Looking at attention while a model runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from cellformer.attention.weights import AttentionWeights
from cellformer.basics.compiling import constant_when_compiled

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


@constant_when_compiled
def recording() -> list[AttentionWeights] | None:
    """The list to append to, or None, as usual."""
    return _record.get()
