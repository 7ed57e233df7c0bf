"""Whether a step of a training fits into memory, asked before the system ends the process."""

import logging

import numpy as np

from cellformer.attention.dense.memory import free_memory
from cellformer.complexes.batches.batch import CellBatch
from cellformer.training.config import RunConfig
from cellformer.training.estimating.estimate import PROBE_NUMBERS
from cellformer.training.estimating.step_memory import BYTES_PER_PARAMETER, step_memory
from cellformer.training.loop.devices import device_of
from cellformer.training.materials.materials import Materials
from cellformer.training.runs.recipe import Recipe

logger = logging.getLogger(__name__)

PER_COLUMN = 400
"""Bytes that a layer may keep of each column of a cell; a fourth of it is usual."""
WEIGHTS = 40
"""Times the square of its columns, parameters that a layer may have."""
LEAST, USUAL = 1.2, 1.8
"""Times what the backward needs of a forward, what a training takes: batches differ in size,
gradients are on their way, and freed memory is not all of use again. Measured on ZINC and GCB."""
LOOKED_AT = 0.25
"""Part of the free memory below which nobody looks closer."""


class StepMemoryError(ValueError):
    """A step of the training does not fit into memory."""


def check_step_fits(config: RunConfig, materials: Materials, recipe: Recipe) -> None:
    """Raises `StepMemoryError` where a step on the processor needs more memory than is free.

    Warns where it may. That is for all ``training.processes`` together, on one machine. A few
    complexes go through few layers to tell what a step takes (`step_memory`), unless it is obvious
    that all fits. A GPU says so itself.
    """
    chosen, complexes = config.training, materials.complexes
    if device_of(chosen) != "cpu" or not len(complexes):
        return
    mean = sum(int(rank.offsets[-1]) for rank in complexes.ranks) / len(complexes)
    cells = min(chosen.batch_size, len(materials.split["train"])) * mean
    if chosen.batch_cells is not None:
        cells = min(cells, max(chosen.batch_cells, mean))
    shape, free = recipe.model.architecture, free_memory()
    columns = shape.width + shape.signed_width
    weights = WEIGHTS * BYTES_PER_PARAMETER * chosen.processes * columns
    if shape.layers * columns * (PER_COLUMN * cells + weights) < LOOKED_AT * free:
        return
    size = min(max(int(PROBE_NUMBERS / columns / max(mean, 1)), 1), len(complexes))
    batch = CellBatch.from_ragged(complexes.take(np.arange(size)))
    data = recipe.model.data
    memory = step_memory(batch, shape, recipe.plan, data.outputs, data.descriptors)
    fixed, growing = memory.bytes(0.0) * chosen.processes, memory.bytes_per_cell * cells
    if fixed + USUAL * growing <= free:
        return
    field = "batch_size" if chosen.batch_cells is None else "batch_cells"
    fits = int(getattr(chosen, field) * (free - fixed) / (USUAL * growing))
    way = f"set training.{field} to {fits}, or " if fits > 0 else ""
    told = (
        f"training takes about {(fixed + USUAL * growing) / 1e9:.1f} GB of memory, "
        f"{fixed / 1e9:.1f} GB of it for {memory.parameters:,} parameters, and "
        f"{free / 1e9:.1f} GB are free; {way}choose a smaller model.width or fewer model.layers"
    )
    if fixed + LEAST * growing > free:
        raise StepMemoryError(told)
    logger.warning("%s; where memory runs out, the system ends the process", told)
