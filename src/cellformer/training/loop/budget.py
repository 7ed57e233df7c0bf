"""A budget of time for a training."""

import time
from typing import Any

import lightning.pytorch as pl


class StopAfter(pl.Callback):
    """Ends training, with a last validation, once it has taken so many minutes.

    Earlier sessions of the same training count, up to their last finished epoch. The schedule of
    the learning rate stays laid out for all epochs.
    """

    def __init__(self, minutes: float):
        self.seconds = 60 * minutes
        self.earlier = 0.0
        self.began = time.monotonic()

    def state_dict(self) -> dict[str, Any]:
        """What resuming needs."""
        return {"seconds": self._taken()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes up the time of the interrupted training."""
        self.earlier = state_dict["seconds"]

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the clock."""
        self.began = time.monotonic()

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        """Stops all processes at the same step: as soon as one finds that the time is up."""
        over = self._taken() >= self.seconds
        if trainer.strategy.reduce_boolean_decision(over, all=False):
            trainer.should_stop = True

    def _taken(self) -> float:
        return self.earlier + time.monotonic() - self.began
