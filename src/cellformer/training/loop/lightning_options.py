"""How Lightning's trainer is set up everywhere."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from lightning.pytorch.accelerators import CUDAAccelerator, MPSAccelerator
from lightning.pytorch.strategies import DDPStrategy

from cellformer.training.config import TrainingConfig
from cellformer.training.loop.world import World


def trainer_options(config: TrainingConfig, world: World | None = None) -> dict[str, Any]:
    """Device and display; the same for training and prediction, which is for one process alone.

    On a CPU all operations used here are reproducible anyway, and being strict would cost time.
    A run that was trained on a GPU predicts where there is none, too.
    """
    world = world or World()
    strict = config.deterministic and device_of(config) == "cuda"
    return {
        "accelerator": "auto" if config.device == "gpu" and not _has_gpu() else config.device,
        "devices": world.local_size,
        "num_nodes": world.size // world.local_size,
        "strategy": _strategy(world),
        "plugins": [world.environment],
        "use_distributed_sampler": False,  # batches are shared out by their loader
        "deterministic": strict,
        "enable_model_summary": False,
        "enable_progress_bar": False,  # see `display`
    }


def _strategy(world: World) -> DDPStrategy | Literal["auto"]:
    """Gradients are averaged; a batch without 2-cells leaves their parameters unused."""
    if world.size == 1:
        return "auto"
    return DDPStrategy(find_unused_parameters=True)


def check_device(config: TrainingConfig) -> None:
    """Raises ValueError where a GPU is asked for and there is none."""
    if config.device == "gpu" and not _has_gpu():
        raise ValueError(
            "training.device=gpu: PyTorch finds no GPU on this machine; set it to cpu or auto"
        )


def _has_gpu() -> bool:
    """Whether there is what Lightning calls a GPU."""
    return any(kind.is_available() for kind in (CUDAAccelerator, MPSAccelerator))


def device_of(config: TrainingConfig) -> Literal["cpu", "cuda"]:
    """Where the model runs; "cpu" also for other accelerators, which have no kernels of ours."""
    return "cuda" if config.device != "cpu" and torch.cuda.is_available() else "cpu"


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Silences Lightning's greetings, and advice that does not apply to complexes."""
    loggers = [logging.getLogger(f"lightning.{part}") for part in ("pytorch", "fabric")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.WARNING)
    with warnings.catch_warnings():
        for advice in (
            ".*LeafSpec.*",
            ".*does not have many workers.*",
            ".*GPU available but not used.*",
            ".*The number of training batches.*",
            ".*Trying to infer the `batch_size`.*",
            ".*overridden `transfer_batch_to_device`.*",
            ".*Checkpoint directory.*exists and is not empty.*",
            ".*your dataloader is not resumable.*",  # ours is
            ".*use `self.log.*sync_dist=True.*",  # what is logged is equal everywhere
        ):
            warnings.filterwarnings("ignore", advice)
        try:
            yield
        finally:
            for each, level in zip(loggers, levels, strict=True):
                each.setLevel(level)
