"""Compiling the layers of a model with torch.compile."""

import logging

import torch

from cellformer.model.described import CellModel
from cellformer.model.plans.plan import AttentionPlan

logger = logging.getLogger(__name__)


class CompilerMissingError(ValueError):
    """torch.compile does not work here."""


def check_sparse(plan: AttentionPlan) -> None:
    """Raises ValueError for a plan with dense attention.

    Its layers cannot be compiled, because the number of their blocks differs from batch to batch.
    """
    if any(relation.dense for relation in plan.relations(plan.diagram.max_rank)):
        raise ValueError(
            "training.compile does not work with dense attention; leave it off, or choose an "
            "attention that is sparse everywhere, such as general-sparse or pairwise-sparse, and "
            "no model.reach of all"
        )


def compile_layers(
    model: CellModel, device: torch.device | str = "cpu", backend: str = "inductor"
) -> None:
    """Has each layer compiled when it is first called; its parameters keep their names.

    One graph, of symbolic shapes, serves all layers and all batches. Raises CompilerMissingError
    if torch.compile does not work on the device, ValueError as `check_sparse` does.
    """
    check_sparse(model.plan)
    probe = torch.compile(_probe, backend=backend)
    try:
        probe(torch.ones(8, device=device))
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise CompilerMissingError(
            "training.compile needs what torch.compile needs, a C++ compiler and on a GPU Triton; "
            f"install them or leave it off ({type(error).__name__}: {reason})"
        ) from error
    logger.info("compiling the layers in the first step, which takes a minute or so")
    for layer in model.layers:
        layer.compile(dynamic=True, fullgraph=True, backend=backend)


def _probe(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.relu() + 1
