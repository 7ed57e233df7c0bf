"""The training step of a network that has losses of its own."""

from jaxtyping import Float
from torch import Tensor

from cellformer.complexes.batches.batch import CellBatch
from cellformer.experiments.baselines.mincut_pool import MinCutPoolNetwork
from cellformer.training.loop.module import CellularModule


class BaselineModule(CellularModule):
    """Adds what the poolings of MinCutPool lose to the loss of the task."""

    def training_step(self, batch: CellBatch, batch_idx: int) -> Float[Tensor, ""]:
        """The loss of one batch."""
        loss = super().training_step(batch, batch_idx)
        if isinstance(self.model, MinCutPoolNetwork):
            loss = loss + self.model.auxiliary_loss
        return loss
