"""Where a model trains and predicts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from cellformer.training.config import TrainingConfig


def check_device(config: TrainingConfig) -> None:
    """Raises ValueError where a GPU is asked for and there is none."""
    if config.device == "gpu" and not has_gpu():
        raise ValueError(
            "training.device=gpu: PyTorch finds no GPU on this machine; set it to cpu or auto"
        )


def has_gpu() -> bool:
    """Whether there is what Lightning calls a GPU."""
    return torch.cuda.is_available() or torch.backends.mps.is_available()


def device_of(config: TrainingConfig) -> Literal["cpu", "cuda"]:
    """Where the model runs; "cpu" also for other accelerators, which have no kernels of ours."""
    return "cuda" if config.device != "cpu" and torch.cuda.is_available() else "cpu"


def prediction_device(config: TrainingConfig) -> torch.device:
    """Where one process predicts; on the CPU what was trained on a GPU, where there is none."""
    if config.device == "cpu" or not has_gpu():
        return torch.device("cpu")
    return torch.device("cuda" if torch.cuda.is_available() else "mps")


def strict(config: TrainingConfig) -> bool:
    """Whether PyTorch is told to be reproducible.

    On a CPU all operations used here are so anyway, and being strict would cost time.
    """
    return config.deterministic and device_of(config) == "cuda"


@contextmanager
def as_strict(config: TrainingConfig) -> Iterator[None]:
    """Within this context PyTorch is `strict` where the configuration asks for it."""
    before = torch.are_deterministic_algorithms_enabled()
    if before or not strict(config):
        yield
        return
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
