"""Ending a training whose numbers have left the finite ones, where it is seen first."""

import lightning.pytorch as pl
import torch
from jaxtyping import Float
from torch import Tensor

from cellformer.training.loop.checkpoints import Checkpoints
from cellformer.training.runs.run_folder import RunFolder

DIVERGED = 70
"""The exit code of a training that diverged (EX_SOFTWARE of <sysexits.h>)."""

EVERY = 32  # steps on a device that would have to be waited for


class TrainingDiverged(ValueError):  # noqa: N818 - as `TrainingInterrupted`
    """A loss, a gradient or a weight is not finite; what was good before is kept."""


class FiniteNumbers(pl.Callback):
    """Raises `TrainingDiverged` before a step is taken with gradients that are not finite.

    All processes of a training see the same gradients. On a GPU they are looked at every few
    steps, and whenever an epoch ends, before its weights are kept.
    """

    def __init__(self, folder: RunFolder, checkpoints: Checkpoints):
        self.folder, self.checkpoints = folder, checkpoints
        self.bad: Float[Tensor, ""] | None = None

    def on_before_optimizer_step(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Looks at all gradients at once."""
        gradients = [p.grad for p in pl_module.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients, foreach=True)
        self.bad = norm if self.bad is None else self.bad + norm  # inf and NaN stay
        if norm.is_cpu or trainer.global_step % EVERY == 0:
            self._look(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Before the epoch's weights are kept."""
        if self.bad is not None:
            self._look(trainer)

    def _look(self, trainer: pl.Trainer) -> None:
        bad, self.bad = self.bad, None
        if bad is None or bool(torch.isfinite(bad)):
            return
        best = self.checkpoints.best_epoch
        kept = (
            f"the weights of epoch {best + 1}, the best until then, are kept in {self.folder.path}"
            if best >= 0
            else "no epoch was finished, so there are no weights to keep"
        )
        raise TrainingDiverged(
            f"training has diverged: gradients are not finite at step {trainer.global_step + 1}, "
            f"in epoch {trainer.current_epoch + 1}; {kept}. Begin again with a lower "
            "optimizer.peak_rate, a longer optimizer.warmup or a lower optimizer.clip_norm, and "
            "look for extreme values among features and targets"
        )
