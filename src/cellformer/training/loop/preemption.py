"""Stopping where nothing is lost, when a signal asks for it."""

import shlex
import time
from pathlib import Path
from typing import Any, NoReturn

import lightning.pytorch as pl

from cellformer.basics.stopping import StopRequests
from cellformer.training.loop.states import save_state
from cellformer.training.loop.world import World
from cellformer.training.runs.run_folder import RunFolder


class TrainingInterrupted(Exception):  # noqa: N818 - like KeyboardInterrupt
    """Training was stopped from outside; ``signal`` is the number of what stopped it."""

    def __init__(self, folder: Path, signal: int):
        super().__init__(folder, signal)
        self.signal = signal
        self.message = (
            f"interrupted; all up to the last step is in {folder}; "
            f"go on with: cellformer train --resume {shlex.quote(str(folder))}"
            if RunFolder(folder).config.exists()
            else "interrupted before training began; what was prepared is kept: go on with the "
            "same command"
        )

    def __str__(self) -> str:
        return self.message


class LeaveTraining(BaseException):
    """Raised through Lightning, which would answer a KeyboardInterrupt in its own way."""


class Preemption(pl.Callback):
    """Keeps the state and raises `LeaveTraining` as soon as any process was asked to stop.

    That is after a training step, or within a validation, which then begins anew. After a step the
    state is kept also where the last one is so many minutes old, so that a training that is killed
    in a long epoch does not lose it.
    """

    def __init__(self, folder: RunFolder, world: World, requests: StopRequests, minutes: float):
        self.folder = folder
        self.world = world
        self.requests = requests
        self.seconds = 60 * minutes
        self.kept = time.monotonic()

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Lightning's own handler, set just before, would not agree with the other processes."""
        self.requests.listen()
        self.kept = time.monotonic()

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        """Stops after a step; after the last one of an epoch, validation has begun."""
        if trainer.is_last_batch or trainer.should_stop:
            return
        # One number for both, so that the processes talk once: a signal's is at least 2 here.
        due = int(time.monotonic() - self.kept >= self.seconds)
        agreed = self.world.largest(2 * self.requests.number + due)
        if agreed:
            save_state(trainer, self.folder)
            self.kept = time.monotonic()
        if agreed >= 2:
            self._leave(agreed // 2)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stops between the last step of an epoch and its validation."""
        self._stop_in_validation(trainer)

    def on_validation_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Stops within a validation."""
        self._stop_in_validation(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stops between two epochs; comes after `Checkpoints`, which keep the state then."""
        self.kept = time.monotonic()
        if number := self.world.largest(self.requests.number):
            self._leave(number)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Within a validation, the state says that its first batch was begun and not finished."""
        if not trainer.validating:
            return
        progress = checkpoint["loops"]["fit_loop"]["epoch_loop.val_loop.batch_progress"]
        for counts in (progress["total"], progress["current"]):
            counts.update(ready=1, started=1, processed=0, completed=0)
        progress["is_last_batch"] = False

    def _stop_in_validation(self, trainer: pl.Trainer) -> None:
        # In the middle of an epoch it is the last validation; its end comes soon and ends all.
        if not trainer.is_last_batch and trainer.should_stop:
            return
        if number := self.world.largest(self.requests.number):
            save_state(trainer, self.folder)
            self._leave(number)

    def _leave(self, number: int) -> NoReturn:
        self.requests.note(number)
        raise LeaveTraining
