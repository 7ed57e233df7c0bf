"""The Lightning module: one step of training, validation and prediction."""

import lightning.pytorch as pl
import torch
from jaxtyping import Float
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from cellformer.complexes.batch import CellBatch
from cellformer.data.dataset import Task
from cellformer.training.config import OptimizerConfig
from cellformer.training.loss import LossName, loss_of
from cellformer.training.metrics import scores
from cellformer.training.scaling import Scaling
from cellformer.training.schedule import warmup_cosine


class CellularModule(pl.LightningModule):
    """Trains a model of complexes as the paper's appendix does ("Training details")."""

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        scaling: Scaling,
        loss: LossName = "auto",
        optimizer: OptimizerConfig | None = None,
        total_steps: int = 1,
        seed: int = 0,
        class_weights: Float[Tensor, "target class"] | None = None,
    ):
        super().__init__()
        self.model = model
        self.task = task
        self.scaling = scaling
        self.loss: LossName = loss
        self.optimizer = optimizer or OptimizerConfig()
        self.total_steps = total_steps
        self.seed = seed
        self.class_weights = class_weights
        self.validated: list[tuple[Tensor, Tensor]] = []

    def transfer_batch_to_device(
        self, batch: CellBatch, device: torch.device, dataloader_idx: int
    ) -> CellBatch:
        """A batch of complexes moves as a whole."""
        return batch.to(device)

    def on_train_batch_start(self, batch: CellBatch, batch_idx: int) -> None:
        """Makes the randomness of a step a function of seed and step, so that resuming is exact."""
        torch.manual_seed(self.seed * 1_000_003 + self.global_step)

    def training_step(self, batch: CellBatch, batch_idx: int) -> Float[Tensor, ""]:
        """The loss of one batch."""
        targets = self.scaling.scale(_targets(batch))
        outputs = self.model(batch).float()
        loss = loss_of(self.task, self.loss, outputs, targets, self.class_weights)
        self.log(
            "train_loss",
            loss,
            on_step=True,
            on_epoch=True,
            prog_bar=True,
            batch_size=batch.num_complexes,
        )
        return loss

    def validation_step(self, batch: CellBatch, batch_idx: int) -> None:
        """Keeps outputs and targets; metrics are computed over the whole set."""
        self.validated.append((self.model(batch).float(), _targets(batch)))

    def on_validation_epoch_end(self) -> None:
        """Logs the loss and all metrics of the validation set."""
        outputs, targets = (torch.cat(parts) for parts in zip(*self.validated, strict=True))
        self.validated.clear()
        scaled = self.scaling.scale(targets)
        loss = loss_of(self.task, self.loss, outputs, scaled, self.class_weights)
        self.log("val_loss", loss)
        values = scores(self.task, self.scaling.unscale(outputs), targets)
        for name, value in values.items():
            self.log(f"val_{name}", value, prog_bar=name == self.task.metric)

    def predict_step(self, batch: CellBatch, batch_idx: int) -> Float[Tensor, "row output"]:
        """Values in the user's units, or logits."""
        return self.scaling.unscale(self.model(batch))

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """AdamW and the schedule, advanced every step."""
        chosen = self.optimizer
        adamw = torch.optim.AdamW(
            self.parameters(),
            lr=chosen.peak_rate,
            betas=(0.9, 0.999),
            eps=1e-8,
            weight_decay=chosen.weight_decay,
        )
        schedule = LambdaLR(
            adamw, lambda step: warmup_cosine(step, self.total_steps, chosen.warmup)
        )
        return {"optimizer": adamw, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def _targets(batch: CellBatch) -> Float[Tensor, "row target"]:
    if batch.targets is None:
        raise ValueError("the batch has no targets to learn from")
    return batch.targets
