"""What is shown while a model trains: a bar that goes away, or lines."""

import logging
import sys
import time
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback
from rich.progress import TextColumn
from torch import nn

from cellformer.training.loop.answering import answering
from cellformer.training.loop.bars import bar
from cellformer.training.runs.curve import JOINT

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 5.0


def display(metric: str, model: nn.Module) -> Callback:
    """A progress bar on a terminal, lines elsewhere."""
    of = answering(model)
    return EpochBar(metric, of) if sys.stderr.isatty() else EpochLines(metric, of)


class EpochLines(Callback):
    """One line for the first and the last epoch, and for others when some time has passed."""

    def __init__(self, metric: str, of: str = ""):
        self.metric = metric
        self.of = of
        self.shown = -SECONDS_BETWEEN_LINES
        self.started = time.monotonic()
        self.waiting = ""  # the line of the last epoch, where it was not shown

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Shows loss, validation score and the time that has passed."""
        now = time.monotonic()
        measured = trainer.callback_metrics
        joint = measured.get(f"val_{self.metric}{JOINT}")
        both = "" if joint is None else f", {joint:.4f} with the fingerprints' share"
        self.waiting = (
            f"epoch {trainer.current_epoch + 1} of {trainer.max_epochs or 1}: training loss "
            f"{measured['train_loss']:.4f}, validation {self.metric} "
            f"{measured[f'val_{self.metric}']:.4f}{self.of}{both}, {now - self.started:.0f} s"
        )
        if now - self.shown >= SECONDS_BETWEEN_LINES:
            self.shown = now
            self._show()

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Shows the last epoch, also where training ends before it was to."""
        self._show()

    def _show(self) -> None:
        if self.waiting:
            logger.info("%s", self.waiting)
        self.waiting = ""


class EpochBar(EpochLines):
    """A bar over all steps of all epochs, in whose place the line of the last epoch comes."""

    def __init__(self, metric: str, of: str = ""):
        super().__init__(metric, of)
        self.shown = float("inf")  # no line before the end
        self.bar = bar(TextColumn("epoch {task.fields[epoch]}"), TextColumn("{task.fields[told]}"))

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Begins where training does, which may be in its midst."""
        epochs, steps = trainer.max_epochs or 1, int(trainer.num_training_batches)
        self.bar.add_task(
            "", total=epochs * steps, completed=trainer.global_step, told="",
            epoch=self._epoch(trainer),
        )  # fmt: skip
        self.bar.start()

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Moves the bar."""
        (task,) = self.bar.task_ids
        self.bar.update(task, completed=trainer.global_step, epoch=self._epoch(trainer))

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Shows the score of the epoch beside the bar."""
        super().on_train_epoch_end(trainer, pl_module)
        (task,) = self.bar.task_ids
        score = trainer.callback_metrics[f"val_{self.metric}"]
        self.bar.update(task, told=f"validation {self.metric} {score:.4g}{self.of}")

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Takes the bar away."""
        self.bar.stop()
        super().on_train_end(trainer, pl_module)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Takes the bar away."""
        self.bar.stop()

    @staticmethod
    def _epoch(trainer: pl.Trainer) -> str:
        return f"{min(trainer.current_epoch + 1, trainer.max_epochs or 1)} of {trainer.max_epochs}"
