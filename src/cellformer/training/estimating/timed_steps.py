"""How long steps of training take, without a loop around them."""

import time
from collections.abc import Iterable

import torch

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.described import CellModel


def step_seconds(model: CellModel, batches: Iterable[CellBatch]) -> list[float]:
    """The seconds of a step of training on each batch, its making included.

    Without those of the first batch, whose step compiles, and allots memory.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
    taken: list[float] = []
    model.train()
    began = time.perf_counter()
    for batch in batches:
        optimizer.zero_grad()
        model(batch).abs().mean().backward()
        optimizer.step()
        ended = time.perf_counter()
        taken.append(ended - began)
        began = ended
    return taken[1:]
