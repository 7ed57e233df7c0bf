"""A model as it predicts, for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Within this context the model neither drops out nor draws signs; then it is as before."""
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)
