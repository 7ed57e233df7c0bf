"""Stopping where nothing is lost, when a signal asks for it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import lightning.pytorch as pl

from cellformer.training.loop.states import save_state
from cellformer.training.loop.world import World
from cellformer.training.runs.run_folder import RunFolder

RESUME_ME = 75
"""The exit code of a training that was stopped and can go on (EX_TEMPFAIL of <sysexits.h>)."""

SIGNALS = tuple(
    signal.Signals[name]
    for name in ("SIGTERM", "SIGUSR1", "SIGINT")
    if name in signal.Signals.__members__  # not all are known on Windows
)


class TrainingInterrupted(Exception):  # noqa: N818 - like KeyboardInterrupt
    """Training was stopped from outside; ``signal`` is the number of what stopped it."""

    def __init__(self, folder: Path, signal: int):
        super().__init__(
            f"interrupted; all up to the last step is in {folder}; "
            f"go on with: cellformer train --resume {folder}"
            if RunFolder(folder).config.exists()
            else "interrupted before training began; what was prepared is kept for the next time"
        )
        self.signal = signal


class StopSignal(BaseException):
    """Raised by a signal; like KeyboardInterrupt no Exception, so that nobody else handles it."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


class StopRequests:
    """SIGTERM, SIGUSR1 and Ctrl-C within a ``with`` block.

    A signal raises `StopSignal` at once, except within `deferred`, where it is only noted in
    ``number``. Signals that are ignored stay so. In another thread than the main one, which alone
    can receive signals, nothing changes.
    """

    def __init__(self) -> None:
        self.number = 0  # of the first signal; 0 if none came
        self._deferring = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequests":
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in SIGNALS}
            self._before = {n: h for n, h in handlers.items() if h is not signal.SIG_IGN}
        self.listen()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def listen(self) -> None:
        """Takes the signals (back) from whoever else wants to handle them."""
        for number in self._before:
            signal.signal(number, self._receive)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Here it is looked after ``number``; what came too late is raised at the end."""
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False
        if self.number:
            raise StopSignal(self.number)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        if not self._deferring:
            raise StopSignal(number)


class Preemption(pl.Callback):
    """Keeps the state and raises `StopSignal` as soon as any process was asked to stop.

    That is after a training step, or within a validation, which then begins anew.
    """

    def __init__(self, folder: RunFolder, world: World, requests: StopRequests):
        self.folder = folder
        self.world = world
        self.requests = requests

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Lightning's own handler, set just before, would not agree with the other processes."""
        self.requests.listen()

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        """Stops after a step; after the last one of an epoch, validation has begun."""
        if not (trainer.is_last_batch or trainer.should_stop):
            self._stop_if_asked(trainer)

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
        if number := self.world.largest(self.requests.number):
            raise StopSignal(number)

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
        if trainer.is_last_batch or not trainer.should_stop:
            self._stop_if_asked(trainer)

    def _stop_if_asked(self, trainer: pl.Trainer) -> None:
        if number := self.world.largest(self.requests.number):
            save_state(trainer, self.folder)
            raise StopSignal(number)
