"""The training loop: batches, Lightning's trainer with its callbacks, from where it stopped."""

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import lightning.pytorch as pl
import numpy as np
from jaxtyping import Float, Int64
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.loggers import Logger
from torch import Tensor
from torch.utils.data import DataLoader

from cellformer.basics.stopping import StopRequests
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.dataset import Metric, Task
from cellformer.data.loading.epochs import EpochBatches
from cellformer.data.loading.loader import SHARD, batches
from cellformer.model.described import kernels_of
from cellformer.training.config import TrainingConfig
from cellformer.training.loop.allocator import freed_memory_kept
from cellformer.training.loop.budget import StopAfter
from cellformer.training.loop.checkpoints import Checkpoints
from cellformer.training.loop.display import display
from cellformer.training.loop.divergence import FiniteNumbers
from cellformer.training.loop.lightning_options import quiet_lightning, trainer_options
from cellformer.training.loop.loggers import LearningRate
from cellformer.training.loop.loss import class_weights_of, loss_function
from cellformer.training.loop.metrics import higher_is_better
from cellformer.training.loop.module import CellularModule
from cellformer.training.loop.preemption import LeaveTraining, Preemption
from cellformer.training.loop.schedule import epochs_of
from cellformer.training.loop.states import state_to_go_on_from
from cellformer.training.materials.materials import Materials
from cellformer.training.runs.environment import begin_session
from cellformer.training.runs.run_folder import RunFolder

logger = logging.getLogger(__name__)


def fit(
    module: CellularModule,
    chosen: TrainingConfig,
    folder: RunFolder,
    materials: Materials,
    complexes: RaggedComplexes | ResidentComplexes,
    requests: StopRequests,
    stop_after: int | None = None,
    callbacks: Sequence[pl.Callback] = (),
    logger_told: Logger | None = None,
) -> Checkpoints:
    """Trains, from a state that the folder holds if it holds one; says what was kept.

    ``complexes`` are those of the materials, wherever they lie; ``logger_told`` is told the
    numbers of every step and epoch.
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
            window=chosen.window,
            shards=_shards(materials, materials.split[part]),
        )
        for part in ("train", "val")
    }
    epochs = epochs_of(chosen, len(loaders["train"]), kernels_of(module.model) is not None)
    module.total_steps = int(min(epochs * len(loaders["train"]), chosen.max_steps or math.inf))
    logger.info(
        "%s: %d training complexes, %d parameters, %d epochs, %d steps",
        materials.name,
        len(materials.split["train"]),
        sum(p.numel() for p in module.model.parameters()),
        epochs,
        module.total_steps,
    )
    state = world.from_first(lambda: state_to_go_on_from(folder, module))
    state = None if state is None else folder.path / state.name  # each process has its own folder
    world.from_first(lambda: begin_session(folder, world.size))
    checkpoints = Checkpoints(folder, module.task.metric)
    with quiet_lightning():
        trainer = pl.Trainer(
            max_epochs=epochs if stop_after is None else min(stop_after, epochs),
            callbacks=[
                FiniteNumbers(folder, checkpoints),
                checkpoints,
                StopAtStep(module.total_steps),
                LearningRate(),
                display(module.task.metric, module.model),
                *_other_callbacks(chosen, module.task.metric),
                Preemption(folder, world, requests, chosen.state_minutes),
                *callbacks,
            ],
            logger=logger_told or False,
            precision="32-true" if chosen.precision == "32" else chosen.precision,
            gradient_clip_val=module.optimizer.clip_norm or None,
            num_sanity_val_steps=0,
            enable_checkpointing=False,
            log_every_n_steps=1,
            **trainer_options(chosen, world),
        )
        keeps = chosen.keep_memory and trainer.strategy.root_device.type == "cpu"
        memory = freed_memory_kept() if keeps else nullcontext()
        with memory, requests.deferred(), _left_when_asked(requests):
            trainer.fit(
                module,
                datamodule=Loaders(loaders["train"], loaders["val"]),
                ckpt_path=state,
                weights_only=True,
            )
    return checkpoints


def training_weights(
    task: Task, chosen: TrainingConfig, materials: Materials
) -> Float[Tensor, "target class"] | None:
    """The weight of each class in the loss, by the targets of the training part."""
    targets = materials.complexes.targets_of(materials.split["train"])
    return class_weights_of(task, chosen.class_weights, targets)


def check_loss(task: Task, chosen: TrainingConfig, materials: Materials) -> None:
    """Raises ValueError for a loss, or weights of classes, of no use to these targets."""
    loss_function(task, chosen.loss)
    training_weights(task, chosen, materials)


@contextmanager
def _left_when_asked(requests: StopRequests) -> Iterator[None]:
    """Leaves it to `StopRequests.deferred` to say that training was left, and why."""
    try:
        yield
    except LeaveTraining:
        pass
    except SystemExit:  # Lightning's, for a signal before `Preemption` took them back
        if not requests.number:
            raise


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
        begun = self.trainer.fit_loop.epoch_progress.current.ready
        done = self.trainer.fit_loop.epoch_loop.batch_progress.current.ready
        ended = done == len(self.train)  # Lightning counts an epoch after its state was kept
        self.train.sampler.set_epoch(begun if ended else self.trainer.current_epoch)
        self.train.sampler.go_on_after(0 if ended else done)
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
    callbacks: list[pl.Callback] = []
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


def _shards(
    materials: Materials, chosen: Int64[np.ndarray, " chosen"]
) -> Int64[np.ndarray, " chosen"]:
    """The part of the store that each complex lies in; patches of a row may lie in several."""
    numbers = chosen if materials.patches is not None else materials.rows[chosen]
    return numbers // SHARD
