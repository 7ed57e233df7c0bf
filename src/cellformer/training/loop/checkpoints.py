"""What is kept of a training after every epoch."""

import csv
import math
import time
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import EarlyStopping

from cellformer.basics.files import blamed, replace_atomically
from cellformer.training.loop.budget import StopAfter
from cellformer.training.loop.metrics import higher_is_better
from cellformer.training.loop.module import CellularModule
from cellformer.training.loop.states import complete, save_state
from cellformer.training.runs.curve import Course
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.weights import save_weights

Row = dict[str, float]


class Checkpoints(pl.Callback):
    """Keeps the best and the last weights, the learning curve, and the state to resume from.

    The best epoch is the one with the best validation metric, of equals the one with the lowest
    validation loss, because few validation rows give many epochs the same accuracy; a value that
    is not a number is never best. Every file is replaced in one step, so a run that is stopped at
    any moment can be resumed: from its last finished epoch, or from the step where `Preemption`
    kept its state.
    """

    def __init__(self, folder: RunFolder, metric: str):
        self.folder = folder
        self.metric = metric
        self.best_value = math.nan
        self.best_loss = math.inf
        self.best_epoch = -1
        self.curve: list[Row] = []
        self.ended = False
        self.planned: int | None = None  # the steps that the training was laid out for
        self.continued = False  # whether this process has written the curve
        self.started = time.monotonic()

    @property
    def course(self) -> Course:
        """How the training went until now."""
        return Course(self.curve, self.best_epoch + 1 or None)

    @property
    def complete(self) -> bool:
        """Whether the training took all steps that it is laid out for, or ended by itself."""
        return complete(self.state_dict(), self.curve[-1]["step"])

    def state_dict(self) -> dict[str, Any]:
        """What resuming needs; plain numbers only."""
        return {
            "best_value": self.best_value,
            "best_loss": self.best_loss,
            "best_epoch": self.best_epoch,
            "curve": self.curve,
            "ended": self.ended,
            "planned": self.planned,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes up the state of the interrupted training."""
        self.best_value = state_dict["best_value"]
        self.best_loss = state_dict.get("best_loss", math.inf)  # runs of before have none
        self.best_epoch = state_dict["best_epoch"]
        self.curve = state_dict["curve"]
        self.ended = state_dict.get("ended", False)  # runs of before have none
        self.planned = state_dict.get("planned")

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Leaves a training that has ended as it is, unless it was laid out for more steps since.

        States of before do not say for how many it was: where nothing else could end it, those
        that it took.
        """
        assert isinstance(pl_module, CellularModule)
        limits = [each for each in trainer.callbacks if isinstance(each, EarlyStopping | StopAfter)]  # type: ignore[attr-defined]
        planned = self.planned or (math.inf if limits else trainer.global_step)
        trainer.should_stop = self.ended and pl_module.total_steps <= planned
        self.planned = pl_module.total_steps

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Starts the clock of the epoch."""
        self.started = time.monotonic()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Writes weights, curve and state; runs after validation."""
        assert isinstance(pl_module, CellularModule)
        measured = {
            name: float(value)
            for name, value in trainer.callback_metrics.items()
            if not name.endswith(("_step", "_epoch"))  # Lightning's two other names of the loss
        }
        row = {
            "epoch": trainer.current_epoch,
            "step": trainer.global_step,
            "learning_rate": float(trainer.optimizers[0].param_groups[0]["lr"]),
            **measured,
            "seconds": round(time.monotonic() - self.started, 3),
        }
        self.curve.append(row)
        self.ended = trainer.should_stop
        value, loss = measured.get(f"val_{self.metric}", math.nan), measured.get("val_loss", 0.0)
        best = self._is_best(value, loss)
        if best:
            self.best_value, self.best_loss = value, loss
            self.best_epoch = trainer.current_epoch
        if trainer.is_global_zero:
            for which in ("best", "last") if best else ("last",):
                save_weights(self.folder.weights(which), pl_module.kept)
            self._write_curve()
        save_state(trainer, self.folder)

    def _is_best(self, value: float, loss: float) -> bool:
        if math.isnan(value):
            return False
        if math.isnan(self.best_value):
            return True
        if value == self.best_value:
            return loss < self.best_loss
        better = (
            value > self.best_value if higher_is_better(self.metric) else value < self.best_value
        )
        return better

    def _write_curve(self) -> None:
        """Appends the newest epoch; rewrites the file after a resume, where it may be ahead."""
        path = self.folder.curve
        fields = list(self.curve[0])
        continued, self.continued = self.continued, True
        lines = path.read_bytes().count(b"\n") if path.exists() else 0
        if continued and lines == len(self.curve) and lines > 1:
            with blamed(path), path.open("a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, fields, extrasaction="ignore").writerow(self.curve[-1])
            return

        with (
            replace_atomically(path) as unfinished,
            unfinished.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.DictWriter(file, fields, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(self.curve)
