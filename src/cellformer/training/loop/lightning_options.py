"""How Lightning's trainer is set up everywhere."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from lightning.pytorch.strategies import DDPStrategy
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parallel import DistributedDataParallel

from cellformer.training.config import TrainingConfig
from cellformer.training.loop.devices import has_gpu, strict
from cellformer.training.loop.world import World


def trainer_options(config: TrainingConfig, world: World) -> dict[str, Any]:
    """Device, processes and display.

    A run that was trained on a GPU is gone on with where there is none, too.
    """
    return {
        "accelerator": "auto" if config.device == "gpu" and not has_gpu() else config.device,
        "devices": world.local_size,
        "num_nodes": world.size // world.local_size,
        "strategy": _strategy(world),
        "plugins": [world.environment],
        "use_distributed_sampler": False,  # batches are shared out by their loader
        "deterministic": strict(config),
        "enable_model_summary": False,
        "enable_progress_bar": False,  # see `display`
    }


def _strategy(world: World) -> DDPStrategy | Literal["auto"]:
    """Gradients are averaged; a batch without 2-cells leaves their parameters unused."""
    if world.size == 1:
        return "auto"
    return _Gradients(find_unused_parameters=True)


class _Gradients(DDPStrategy):
    """Sends parameters and the running means of batch norm, and no other buffers.

    All processes make the same of these, such as the references of kernels over fingerprints,
    which would be sent in every step, and have a type that gloo does not know.
    """

    def _setup_model(self, model: nn.Module) -> DistributedDataParallel:
        running = [name for name, part in model.named_modules() if isinstance(part, _BatchNorm)]
        others = [
            name for name, _ in model.named_buffers() if name.rpartition(".")[0] not in running
        ]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(  # type: ignore[no-untyped-call]
            model, others
        )
        return super()._setup_model(model)


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
