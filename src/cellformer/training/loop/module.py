"""The Lightning module: one step of training and validation."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import lightning.pytorch as pl
import torch
from jaxtyping import Float
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from cellformer.complexes.batches.batch import CellBatch
from cellformer.data.dataset import Task
from cellformer.training.config import OptimizerConfig
from cellformer.training.loop.averaging import averaged_weights
from cellformer.training.loop.beside import KernelsBeside
from cellformer.training.loop.loss import loss_of, total_loss
from cellformer.training.loop.metrics import scores
from cellformer.training.loop.schedule import warmup_cosine
from cellformer.training.loop.share import best_share
from cellformer.training.loop.thawing import Group, for_optimizer
from cellformer.training.loop.world import World
from cellformer.training.objectives.objectives import Objectives, Sums
from cellformer.training.runs.curve import JOINT
from cellformer.training.runs.scaling import Scaling

TARGETS = "targets"
"""The name of the loss of what is learned anyway, beside those of objectives."""
FAR_APART = 2_654_435_761
"""Between the seeds of what happens side by side."""


@dataclass
class EpochLoss:
    """The mean loss of the steps of an epoch, each weighted by its complexes."""

    total: float | Float[Tensor, ""] = 0.0
    complexes: int = 0

    def add(self, loss: Float[Tensor, ""], complexes: int) -> None:
        """Counts a step, without waiting for the device."""
        self.total = self.total + loss.double() * complexes
        self.complexes += complexes

    def state(self) -> tuple[float, int]:
        """What another one can be made of."""
        return float(self.total), self.complexes

    def taken(self) -> float:
        """The mean; afterwards nothing is counted."""
        mean = float(self.total) / max(self.complexes, 1)
        self.total, self.complexes = 0.0, 0
        return mean


class CellularModule(pl.LightningModule):
    """Trains a model of complexes as the paper's appendix does ("Training details")."""

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        scaling: Scaling,
        loss: str = "auto",
        optimizer: OptimizerConfig | None = None,
        total_steps: int = 1,
        seed: int = 0,
        class_weights: Float[Tensor, "target class"] | None = None,
        world: World | None = None,
    ):
        super().__init__()
        self.model = model
        self.task = task
        self.scaling = scaling
        self.loss = loss
        self.optimizer = optimizer or OptimizerConfig()
        self.total_steps = total_steps
        self.seed = seed
        self.class_weights = class_weights
        self.world = world or World()
        self.averaged = averaged_weights(model, self.optimizer.averaging)
        self.groups = [Group([*model.parameters()])]
        self.validated: list[tuple[Tensor, ...]] = []
        self.beside: KernelsBeside | None = None
        self.objectives: Objectives | None = None
        self.guessed: list[Sums] = []
        self.trained = EpochLoss()

    def transfer_batch_to_device(
        self, batch: CellBatch, device: torch.device, dataloader_idx: int
    ) -> CellBatch:
        """A batch of complexes moves as a whole."""
        return batch.to(device)

    @property
    def kept(self) -> nn.Module:
        """What is validated and kept: the model, or the average of its weights."""
        if self.averaged is None:
            return self.model
        average: nn.Module = self.averaged.module
        return average

    def on_train_start(self) -> None:
        """Takes the rate where the schedule is now: it may be laid out for more epochs than it was
        when the state that training goes on from was kept."""
        schedule = self.lr_schedulers()
        assert isinstance(schedule, LambdaLR)
        for group, peak, factor in zip(
            schedule.optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True
        ):
            group["lr"] = peak * factor(schedule.last_epoch)

    def on_train_batch_start(self, batch: CellBatch, batch_idx: int) -> None:
        """Makes the randomness of a step a function of seed and step, so that resuming is exact."""
        # Processes that train together drop different cells. A CPU heeds the lower 32 bits alone.
        torch.manual_seed(self._step_seed() + self.world.rank * FAR_APART)

    def training_step(self, batch: CellBatch, batch_idx: int) -> Float[Tensor, ""]:
        """The loss of one batch: its mean over all targets, those of other processes included.

        A process returns its share of it, times their number, because the gradients of the
        processes are averaged.
        """
        complexes = batch.num_complexes
        if batch.part is not None:
            complexes = batch.part.total
            batch = replace(batch, part=replace(batch.part, seed=self._step_seed()))
        targets = self.scaling.scale(_targets(batch))
        guessed: Sums = {}
        if self.objectives is None:
            outputs = self.model(batch).float()
        else:
            outputs, guessed = self.objectives(self.model, batch, self._step_seed())
            outputs = outputs.float()
        of_targets = total_loss(
            self.task, self.loss, outputs, targets, self.class_weights, self._bounds(batch)
        )
        means, own = self._means({TARGETS: of_targets, **guessed})
        for name in guessed:
            self.log(f"train_{name}_step", means[name])
        loss, own_loss = means.pop(TARGETS), own.pop(TARGETS)
        if self.objectives is not None:
            loss = self.objectives.joined(loss, means)
            own_loss = self.objectives.joined(own_loss, own)
        self.trained.add(loss, complexes)
        self.log("train_loss_step", loss, prog_bar=True)
        return own_loss

    def _means(self, sums: Sums) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The mean of each loss over all processes, and this one's share of it, times theirs."""
        flat = [part for total, number in sums.values()
                for part in (total.detach(), number.to(total.dtype))]  # fmt: skip
        everywhere = self.world.summed(torch.stack(flat)).reshape(-1, 2)
        numbers = everywhere[:, 1].clamp(min=1)
        return (
            dict(zip(sums, everywhere[:, 0] / numbers, strict=True)),
            {
                name: total * self.world.size / number
                for (name, (total, _)), number in zip(sums.items(), numbers, strict=True)
            },
        )

    def _bounds(self, batch: CellBatch) -> Float[Tensor, "row side"] | None:
        """Those of unknown targets, in the units of training."""
        if batch.bounds is None:
            return None
        return torch.cat([self.scaling.scale(side) for side in batch.bounds.tensor_split(2, 1)], 1)

    def _step_seed(self) -> int:
        return self.seed * 1_000_003 + self.global_step

    def validation_step(self, batch: CellBatch, batch_idx: int) -> None:
        """Keeps outputs and targets; metrics are computed over the whole set."""
        told = [] if self.beside is None else [self.beside.said_of(batch, batch_idx)]
        self.validated.append((self.kept(batch).float(), _targets(batch), *told))
        if self.objectives is not None:
            self.guessed.append(self.objectives(self.kept, batch, batch_idx)[1])

    def on_validation_epoch_end(self) -> None:
        """Logs the training loss of the epoch, and loss and metrics of the validation set.

        Where kernels stand beside the cells, which validate alone, the metrics of both are those
        with the share that they would get if training ended now.
        """
        self.log("train_loss", self.trained.taken())
        outputs, targets, *told = (
            self.world.gathered(torch.cat(parts)) for parts in zip(*self.validated, strict=True)
        )
        self.validated.clear()
        scaled = self.scaling.scale(targets)
        loss = loss_of(self.task, self.loss, outputs, scaled, self.class_weights)
        self.log("val_loss", loss)
        for name, mean in self._guessed_means().items():
            self.log(f"val_{name}", mean)
        values = scores(self.task, self.scaling.unscale(self._values(outputs)), targets)
        for name, value in values.items():
            self.log(f"val_{name}", value, prog_bar=name == self.task.metric)
        for from_counts in told:
            share = best_share(
                self.task, self.loss, outputs, from_counts, scaled, self.class_weights,
                of_kernels=True,
            )  # fmt: skip
            joint = self._values(torch.lerp(outputs, from_counts, share))
            for name, value in scores(self.task, self.scaling.unscale(joint), targets).items():
                self.log(f"val_{name}{JOINT}", value)

    def _guessed_means(self) -> dict[str, Tensor]:
        """Of the validation part, the mean loss of each objective; afterwards nothing is kept."""
        if not self.guessed:
            return {}
        sums = {
            name: tuple(torch.stack([part[name][place] for part in self.guessed]).sum()
                        for place in range(2))
            for name in self.guessed[0]
        }  # fmt: skip
        self.guessed.clear()
        return self._means({name: (total, number) for name, (total, number) in sums.items()})[0]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keeps the loss of an epoch that is not over."""
        checkpoint["trained"] = self.trained.state()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Takes it up again; runs of before were kept between epochs, where there is none."""
        self.trained = EpochLoss(*checkpoint.get("trained", ()))

    def _values(self, outputs: Float[Tensor, "row output"]) -> Float[Tensor, "row value"]:
        return outputs[:, : self.task.outputs]

    def optimizer_step(self, *arguments: Any, **named: Any) -> None:
        """Takes a step, and has the average follow, before a state can be kept."""
        super().optimizer_step(*arguments, **named)
        if self.averaged is not None:
            self.averaged.update_parameters(self.model)

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clips the norm of all gradients.

        Lightning's own way refuses fused optimizers, for the sake of gradients scaled for float16,
        which is no precision of ours.
        """
        if gradient_clip_val:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), gradient_clip_val, foreach=True)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """AdamW and the schedule, advanced every step."""
        chosen = self.optimizer
        adamw = torch.optim.AdamW(
            for_optimizer(self.groups),
            lr=chosen.peak_rate,
            betas=(0.9, 0.999),
            eps=1e-8,
            weight_decay=chosen.weight_decay,
            fused=True,  # one pass over all weights, where small ones took longer than their steps
        )
        schedule = LambdaLR(adamw, [partial(self._factor, group) for group in self.groups])
        return {"optimizer": adamw, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _factor(self, group: Group, step: int) -> float:
        """Of the peak rate of a group at a step."""
        usual = warmup_cosine(step, self.total_steps, self.optimizer.warmup)
        return usual * group.factor(step, self.total_steps)


def _targets(batch: CellBatch) -> Float[Tensor, "row target"]:
    if batch.targets is None:
        raise ValueError("the batch has no targets to learn from")
    return batch.targets
