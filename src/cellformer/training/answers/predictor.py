"""A trained model, and what it says of complexes in the user's units."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from cellformer.basics.lost import LOADER_LOST, LostProcessError, lost_loader
from cellformer.complexes.batches.batch import CellBatch
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.dataset import Task
from cellformer.data.loading.loader import batches
from cellformer.model.dropping import drop_again
from cellformer.model.evaluation import evaluating
from cellformer.training.config import TrainingConfig
from cellformer.training.loop.bars import predicting
from cellformer.training.loop.devices import as_strict, prediction_device
from cellformer.training.loop.spread_losses import spreads
from cellformer.training.runs.scaling import Scaling

BATCHES_PER_WORKER = 1000
"""Of less use is a process that loads them: it takes seconds to start, a batch milliseconds."""
FAR_APART = 2_654_435_761
"""Between the seeds of answers that dropout is drawn for."""


class Predictor(nn.Module):
    """A model whose targets were scaled for training."""

    def __init__(self, model: nn.Module, task: Task, scaling: Scaling):
        super().__init__()
        self.model = model
        self.task = task
        self.scaling = scaling

    def forward(self, batch: CellBatch) -> Float[Tensor, "row output"]:
        """Values in the user's units, or logits; behind them the deviations below and above them,
        of a model that has learned some.
        """
        values, apart = in_units(self.task, self.scaling, self.model(batch))
        return values if apart is None else torch.cat([values, apart], 1)


def in_units(
    task: Task, scaling: Scaling, outputs: Float[Tensor, "row output"]
) -> tuple[Float[Tensor, "row value"], Float[Tensor, "row side"] | None]:
    """What a model puts out, in the user's units: values, or logits, and the deviations below and
    above them, where it has learned some.
    """
    values = scaling.unscale(outputs[:, : task.outputs])
    apart = spreads(outputs, task.outputs)
    return values, None if apart is None else scaling.stretch(apart)


def outputs_of(
    predictor: Predictor,
    config: TrainingConfig,
    complexes: RaggedComplexes,
    chosen: Int64[np.ndarray, " chosen"],
    sample: int | None = None,
) -> Float[np.ndarray, "row output"]:
    """What `Predictor` says of some complexes, in batches, on the device of the configuration.

    With the number of a ``sample``, dropout stays on, and is drawn by it. Afterwards the model is
    on the CPU. Raises LostProcessError where a process that loads batches is gone.
    """
    if not len(chosen):
        return np.zeros((0, predictor.task.outputs), np.float32)
    loader = batches(
        complexes,
        chosen,
        config.batch_size,
        shuffle=False,
        seed=config.seed,
        workers=min(config.loader_workers, len(chosen) // config.batch_size // BATCHES_PER_WORKER),
        batch_cells=config.batch_cells,
    )
    device = prediction_device(config)
    parts = []
    with answering_on(device, predictor), torch.inference_mode(), as_strict(config):
        if sample is not None:
            drop_again(predictor)
        try:
            for number, batch in enumerate(predicting(loader, len(loader))):
                if sample is not None:
                    torch.manual_seed(sample * FAR_APART + number)
                parts.append(predictor(batch.to(device)))
        except RuntimeError as error:
            if not lost_loader(error):
                raise
            raise LostProcessError(f"{LOADER_LOST}; give the same command again") from error
    told = torch.cat(parts).cpu()
    rows: Float[np.ndarray, "row output"] = (
        told if told.dtype == torch.float64 else told.float()
    ).numpy()
    return rows


@contextmanager
def answering_on(device: torch.device, model: nn.Module) -> Iterator[None]:
    """Within this context the model is there, and evaluates; then it is on the CPU."""
    with evaluating(model):
        model.to(device)
        try:
            yield
        finally:
            model.cpu()
