"""A finished run, ready to predict."""

from dataclasses import dataclass
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import torch
from jaxtyping import Float, Int64

from cellformer.basics.archives import one_line
from cellformer.basics.parts.trust import PartRefusedError
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.dataset import GraphSet
from cellformer.data.loading.loader import batches
from cellformer.data.preparation import Preparation
from cellformer.data.preparing.prepare import Prepared
from cellformer.model.described import CellModel
from cellformer.training.config import RunConfig, TrainingConfig
from cellformer.training.loop.display import PredictionBar
from cellformer.training.loop.lightning_options import quiet_lightning, trainer_options
from cellformer.training.loop.module import CellularModule
from cellformer.training.runs.preparation import preparation_in
from cellformer.training.runs.recipe import Recipe
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.weights import load_weights


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A model with the weights of a run, and how its data were made."""

    folder: RunFolder
    config: RunConfig
    preparation: Preparation
    recipe: Recipe
    module: CellularModule
    cache_dir: Path | None = None  # of what is prepared to be answered; None: the usual cache

    @classmethod
    def open(cls, path: Path, weights: str = "best") -> "TrainedRun":
        """Reads a run folder; ``weights`` are those of the "best" or of the "last" epoch.

        Raises FileNotFoundError if the folder lacks a file, ValueError if one is damaged.
        """
        folder = RunFolder(path)
        config = RunConfig.from_json(folder.require(folder.config))
        recipe = Recipe.read(folder)
        module = CellularModule(_built(recipe, folder), recipe.task, recipe.scaling)
        load_weights(folder.require(folder.weights(weights)), module.model)
        return cls(folder, config, preparation_in(folder, config), recipe, module)

    @property
    def model(self) -> CellModel:
        """The model with these weights."""
        assert isinstance(self.module.model, CellModel)
        return self.module.model

    def prepare(self, rows: GraphSet) -> Prepared:
        """The complexes of some rows, made as those of this run.

        Rows over a limit of the lifting count as failures, as invalid ones do. Raises
        NoComplexError if there are only failures.
        """
        return self.preparation.stored(
            rows,
            workers=self.config.data.workers,
            over_limit="skip",
            cache_dir=self.cache_dir,
        )

    def outputs(
        self,
        complexes: RaggedComplexes,
        chosen: Int64[np.ndarray, " chosen"],
        sample: int | None = None,
    ) -> Float[np.ndarray, "row output"]:
        """Predictions of some complexes: values in the user's units, or logits.

        Behind values stand `deviations`, where such were learned. With the number of a ``sample``,
        dropout stays on, and is drawn by it.
        """
        self.module.sample = sample
        return outputs_of(self.module, self.config.training, complexes, chosen)


def _built(recipe: Recipe, folder: RunFolder) -> CellModel:
    """The model that a run describes; raises ValueError, naming the file, where there is none."""
    try:
        return recipe.build()
    except PartRefusedError:
        raise
    except (ArithmeticError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"{folder.model}: no model can be built as it says ({one_line(error)})"
        ) from error


def outputs_of(
    module: CellularModule,
    config: TrainingConfig,
    complexes: RaggedComplexes,
    chosen: Int64[np.ndarray, " chosen"],
) -> Float[np.ndarray, "row output"]:
    """Predictions of some complexes: values in the user's units, or logits."""
    if not len(chosen):
        return np.zeros((0, module.task.outputs), np.float32)
    loader = batches(
        complexes,
        chosen,
        config.batch_size,
        shuffle=False,
        seed=config.seed,
        workers=config.loader_workers,
        batch_cells=config.batch_cells,
    )
    with quiet_lightning():
        trainer = pl.Trainer(
            callbacks=[PredictionBar()],
            logger=False,
            enable_checkpointing=False,
            **trainer_options(config),
        )
        parts = trainer.predict(module, loader)
    assert parts is not None
    told = torch.cat([part for part in parts if isinstance(part, torch.Tensor)]).cpu()
    rows: Float[np.ndarray, "row output"] = (
        told if told.dtype == torch.float64 else told.float()
    ).numpy()
    return rows
