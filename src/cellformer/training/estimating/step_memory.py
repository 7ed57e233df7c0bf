"""How much memory a step of training takes, from a small one that is run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cellformer.complexes.batches.batch import CellBatch
from cellformer.model.config import ArchitectureConfig, DataShape, DescriptorShape, ModelConfig
from cellformer.model.described import CellModel, cell_model
from cellformer.model.plans.plan import AttentionPlan

BYTES_PER_PARAMETER = 16
"""Of a float32 weight: itself, its gradient, and the two moments of AdamW."""


@dataclass(frozen=True)
class StepMemory:
    """What a step of training holds in memory, beyond the program itself."""

    parameters: int
    """Numbers that are learned."""
    bytes_per_cell: float
    """Kept for the backward, and the largest tensor once more, on which it is working."""

    def bytes(self, cells: float) -> float:
        """For a batch of so many cells."""
        return BYTES_PER_PARAMETER * self.parameters + cells * self.bytes_per_cell


def step_memory(
    batch: CellBatch,
    architecture: ArchitectureConfig,
    plan: AttentionPlan,
    outputs: int = 1,
    descriptors: DescriptorShape | None = None,
) -> StepMemory:
    """Runs a forward of two layers and one of three on a batch, and counts.

    All layers but the last are alike.

    For sparse attention the bytes per cell hold for batches of any size of complexes with as many
    neighbors per cell; for dense attention, for complexes of the same size.
    """
    shape = replace(DataShape.of(batch, outputs), descriptors=descriptors)

    def measured(layers: int) -> tuple[int, int]:
        config = ModelConfig(replace(architecture, layers=layers), shape)
        return _measured(cell_model(config, plan), batch)

    with torch.random.fork_rng(devices=[]):
        shallow, deeper = measured(min(architecture.layers, 2)), measured(3)
    more = max(architecture.layers - 2, 0)
    parameters, held = (
        few + more * (many - few) for few, many in zip(shallow, deeper, strict=True)
    )
    return StepMemory(parameters, held / max(sum(batch.num_cells), 1))


@contextmanager
def kept_tensors() -> Iterator[dict[int, Tensor]]:
    """The tensors that autograd keeps for the backward, one of each storage, by its address."""
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        alone = tensor.detach()  # the tensor itself would hold the graph that holds it
        kept.setdefault(alone.untyped_storage().data_ptr(), alone)
        return alone

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield kept


def _measured(model: CellModel, batch: CellBatch) -> tuple[int, int]:
    """The number of parameters; the bytes that the cells take."""
    parameters = list(model.parameters())
    model.train()
    with kept_tensors() as kept:
        model(batch)
    weights = {parameter.untyped_storage().data_ptr() for parameter in parameters}
    sizes = [tensor.untyped_storage().nbytes() for at, tensor in kept.items() if at not in weights]
    return sum(p.numel() for p in parameters), sum(sizes) + max(sizes, default=0)
