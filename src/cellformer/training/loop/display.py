"""What is shown while a model trains."""

import logging
import sys
import time

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback, RichProgressBar

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 5.0


def display(metric: str) -> Callback:
    """A progress bar on a terminal, lines elsewhere."""
    return RichProgressBar(leave=False) if sys.stderr.isatty() else EpochLines(metric)


class EpochLines(Callback):
    """One line for the first and the last epoch, and for others when some time has passed."""

    def __init__(self, metric: str):
        self.metric = metric
        self.shown = -SECONDS_BETWEEN_LINES
        self.started = time.monotonic()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Shows loss, validation score and the time that is left at this pace."""
        now = time.monotonic()
        epoch, epochs = trainer.current_epoch + 1, trainer.max_epochs or 1
        if now - self.shown < SECONDS_BETWEEN_LINES and epoch < epochs:
            return
        self.shown = now
        measured = trainer.callback_metrics
        logger.info(
            "epoch %d of %d: training loss %.4f, validation %s %.4f, %.0f s",
            epoch,
            epochs,
            measured["train_loss"],
            self.metric,
            measured[f"val_{self.metric}"],
            now - self.started,
        )
