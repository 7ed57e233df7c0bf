"""Compiling the layers of a model with torch.compile."""

import logging

import torch

from cellformer.model.transformer import CellularTransformer

logger = logging.getLogger(__name__)


class CompilerMissingError(ValueError):
    """torch.compile does not work here."""


def compile_layers(
    model: CellularTransformer, device: torch.device | str = "cpu", backend: str = "inductor"
) -> None:
    """Has each layer compiled when it is first called; its parameters keep their names.

    One graph, of symbolic shapes, serves all layers and all batches. Layers with dense attention
    cannot be compiled so, because the number of their blocks differs from batch to batch.

    Raises CompilerMissingError if torch.compile does not work on the device.
    """
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
