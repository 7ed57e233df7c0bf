"""Train a model from a configuration into a run folder."""

import logging
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from jaxtyping import Float
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor
from torch.utils.data import DataLoader

from cellformer.complexes.batch import CellBatch
from cellformer.complexes.ragged import RaggedComplexes
from cellformer.complexes.resident import ResidentComplexes
from cellformer.data.dataset import GraphSet, Metric, Task
from cellformer.data.epochs import EpochBatches
from cellformer.data.loader import batches
from cellformer.model.feature_scaling import standardize_features
from cellformer.training.balance import balance_weights
from cellformer.training.budget import StopAfter
from cellformer.training.checkpoints import Checkpoints
from cellformer.training.compiling import compile_layers
from cellformer.training.config import RunConfig, TrainingConfig
from cellformer.training.display import display
from cellformer.training.distributed import World, launched
from cellformer.training.launch import launch
from cellformer.training.loss import class_weights_of
from cellformer.training.materials import Materials, gather
from cellformer.training.memory import keep_freed_memory
from cellformer.training.metrics import higher_is_better
from cellformer.training.module import CellularModule
from cellformer.training.origin import begin_session
from cellformer.training.placement import placed
from cellformer.training.preemption import Preemption, StopRequests
from cellformer.training.recipe import Recipe
from cellformer.training.run_folder import RunFolder
from cellformer.training.schedule import epochs_of
from cellformer.training.session import session
from cellformer.training.summary import write_summary
from cellformer.training.trainer import device_of, quiet_lightning, trainer_options

logger = logging.getLogger(__name__)


def train(
    config: RunConfig,
    path: str | os.PathLike[str],
    stop_after: int | None = None,
    data: GraphSet | None = None,
    callbacks: Sequence[pl.Callback] = (),
) -> dict[str, Any]:
    """Trains into a new run folder and returns the summary, as it stands in ``summary.json``.

    ``data`` is learned instead of the source that the configuration names; such a run predicts
    like any other, but cannot be resumed or scored on its own parts from the folder alone.
    ``stop_after`` ends this session after so many epochs, with the schedule still laid out for all
    of them; `resume` goes on. ``callbacks`` are called after all others. Called in each of several
    processes that torchrun or SLURM started, it trains in all of them together. Raises
    FileExistsError if the folder holds a run already, ValueError for data that cannot be trained
    on, `TrainingInterrupted` on Ctrl-C, SIGTERM and SIGUSR1, `PeerError` where another process
    fails.
    """
    if data is not None and _starts_others(config):
        raise ValueError(
            "data in memory are not sent to other processes; set training.processes to 1, give the "
            "path of a file, or start this script with torchrun"
        )
    folder = RunFolder(Path(path))
    with session(config.training, folder.path) as (world, requests):
        world.from_first(folder.claim)
        materials = world.together(lambda: gather(config.data, data))
        recipe = Recipe.for_materials(config, materials)

        def write() -> None:
            recipe.write(folder)
            folder.write_failures(materials.failures)
            folder.write_leaks(materials.leaks)
            folder.write_config(config)

        world.from_first(write)
        return _run(config, folder, materials, recipe, stop_after, world, requests, callbacks)


def resume(
    path: str | os.PathLike[str],
    stop_after: int | None = None,
    callbacks: Sequence[pl.Callback] = (),
) -> dict[str, Any]:
    """Goes on with an interrupted run; the result equals that of an uninterrupted one.

    A finished run is left as it is and its summary returned. The number of processes may be
    another one than before. Raises FileNotFoundError if the folder holds no run, and otherwise as
    `train`.
    """
    folder = RunFolder(Path(path))
    config = RunConfig.from_json(folder.require(folder.config))
    if folder.summary.exists():
        logger.info("%s is finished already", path)
        return folder.read_summary()
    with session(config.training, folder.path) as (world, requests):
        world.from_first(lambda: None)  # as `train` asks who may have the folder
        materials = world.together(lambda: gather(config.data))
        recipe = world.from_first(lambda: Recipe.read(folder))
        return _run(config, folder, materials, recipe, stop_after, world, requests, callbacks)


def _run(
    config: RunConfig,
    folder: RunFolder,
    materials: Materials,
    recipe: Recipe,
    stop_after: int | None,
    world: World,
    requests: StopRequests,
    callbacks: Sequence[pl.Callback],
) -> dict[str, Any]:
    if _starts_others(config):
        if callbacks:
            raise ValueError("callbacks are not sent to others; set training.processes to 1")
        launch(folder.path, config.training.processes, stop_after, requests)
        return folder.read_summary()
    chosen = config.training
    torch.manual_seed(chosen.seed)
    model = recipe.build()
    standardize_features(model, materials.complexes, materials.split["train"])
    complexes = placed(materials.complexes, model, chosen)
    if chosen.compile:
        compile_layers(model, device_of(chosen))
    module = CellularModule(
        model,
        recipe.task,
        recipe.scaling,
        chosen.loss,
        config.optimizer,
        seed=chosen.seed,
        class_weights=training_weights(recipe.task, chosen, materials),
        world=world,
    )
    checkpoints = fit(module, chosen, folder, materials, complexes, requests, stop_after, callbacks)

    def finish() -> dict[str, Any]:
        balance_weights(folder, module, model, materials)
        return write_summary(config, folder, materials, recipe, checkpoints)

    return world.from_first(finish)


def fit(
    module: CellularModule,
    chosen: TrainingConfig,
    folder: RunFolder,
    materials: Materials,
    complexes: RaggedComplexes | ResidentComplexes,
    requests: StopRequests,
    stop_after: int | None = None,
    callbacks: Sequence[pl.Callback] = (),
) -> Checkpoints:
    """The loop itself, from ``folder.resume`` where that exists; says what was kept.

    ``complexes`` are those of the materials, wherever they lie.
    """
    world = module.world
    loaders = {
        part: batches(
            complexes,
            materials.split[part],
            chosen.batch_size,
            shuffle=part == "train",
            seed=chosen.seed,
            workers=chosen.loader_workers,
            batch_cells=chosen.batch_cells,
            bucket=chosen.bucket and part == "train",
            share=world.share,
        )
        for part in ("train", "val")
    }
    epochs = epochs_of(chosen, len(loaders["train"]))
    module.total_steps = int(min(epochs * len(loaders["train"]), chosen.max_steps or math.inf))
    logger.info(
        "%s: %d training complexes, %d parameters, %d epochs, %d steps",
        materials.name,
        len(materials.split["train"]),
        sum(p.numel() for p in module.parameters()),
        epochs,
        module.total_steps,
    )
    world.from_first(lambda: begin_session(folder, world.size))
    checkpoints = Checkpoints(folder, module.task.metric)
    with quiet_lightning():
        trainer = pl.Trainer(
            max_epochs=epochs if stop_after is None else min(stop_after, epochs),
            callbacks=[
                checkpoints,
                StopAtStep(module.total_steps),
                *_other_callbacks(chosen, module.task.metric),
                Preemption(folder, world, requests),
                *callbacks,
            ],
            logger=TensorBoardLogger(folder.path, name="", version="tensorboard"),
            precision="32-true" if chosen.precision == "32" else chosen.precision,
            gradient_clip_val=module.optimizer.clip_norm or None,
            num_sanity_val_steps=0,
            enable_checkpointing=False,
            log_every_n_steps=1,
            **trainer_options(chosen, world),
        )
        if chosen.keep_memory and trainer.strategy.root_device.type == "cpu":
            keep_freed_memory()
        with requests.deferred():
            trainer.fit(
                module,
                datamodule=Loaders(loaders["train"], loaders["val"]),
                ckpt_path=folder.resume if folder.resume.exists() else None,
                weights_only=True,
            )
    return checkpoints


def training_weights(
    task: Task, chosen: TrainingConfig, materials: Materials
) -> Float[Tensor, "target class"] | None:
    """The weight of each class in the loss, by the targets of the training part."""
    targets = materials.complexes.targets_of(materials.split["train"])
    return class_weights_of(task, chosen.class_weights, targets)


def _starts_others(config: RunConfig) -> bool:
    """Whether it is for this process to start those that train."""
    return config.training.processes > 1 and launched() is None


class Loaders(pl.LightningDataModule):
    """Tells the order of batches where training stands before a worker can ask for a batch.

    Lightning tells it the epoch itself, but after workers have begun with the first batches.
    """

    def __init__(self, train: DataLoader[CellBatch], val: DataLoader[CellBatch]):
        super().__init__()
        self.train = train
        self.val = val

    def train_dataloader(self) -> DataLoader[CellBatch]:
        """The loader, at the epoch where training begins or goes on."""
        assert isinstance(self.train.sampler, EpochBatches)
        assert self.trainer is not None
        self.train.sampler.set_epoch(self.trainer.current_epoch)
        done = self.trainer.fit_loop.epoch_loop.batch_progress.current.ready
        self.train.sampler.go_on_after(done % len(self.train))  # all done: the next epoch's turn
        return self.train

    def val_dataloader(self) -> DataLoader[CellBatch]:
        """The loader."""
        return self.val


class StopAtStep(pl.Callback):
    """Ends training, with a last validation, after a number of steps."""

    def __init__(self, last_step: int):
        self.last_step = last_step

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        """Lightning validates before it obeys; its own max_steps would not."""
        if trainer.global_step >= self.last_step:
            trainer.should_stop = True


def _other_callbacks(chosen: TrainingConfig, metric: Metric) -> list[pl.Callback]:
    callbacks: list[pl.Callback] = [display(metric)]
    if chosen.max_minutes is not None:
        callbacks.append(StopAfter(chosen.max_minutes))
    if chosen.patience is not None:
        callbacks.append(
            EarlyStopping(
                f"val_{metric}",
                patience=chosen.patience,
                mode="max" if higher_is_better(metric) else "min",
                check_finite=False,  # an undefined score is no reason to stop
            )
        )
    return callbacks
