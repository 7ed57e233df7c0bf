"""A finished run, ready to predict."""

from dataclasses import dataclass
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import torch
from jaxtyping import Float32, Int64

from cellformer.complexes.ragged import RaggedComplexes
from cellformer.data.dataset import GraphSet
from cellformer.data.loader import batches
from cellformer.data.prepare import Prepared, prepare
from cellformer.data.sources import open_source
from cellformer.data.table import is_table
from cellformer.training.build import build_encodings, build_features, build_lifting
from cellformer.training.config import RunConfig
from cellformer.training.module import CellularModule
from cellformer.training.recipe import Recipe
from cellformer.training.run_folder import RunFolder, load_weights
from cellformer.training.trainer import quiet_lightning, trainer_options


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A model with the weights of a run, and how its data were made."""

    folder: RunFolder
    config: RunConfig
    recipe: Recipe
    module: CellularModule

    @classmethod
    def open(cls, path: Path, weights: str = "best") -> "TrainedRun":
        """Reads a run folder; ``weights`` are those of the "best" or of the "last" epoch.

        Raises FileNotFoundError if the folder lacks a file, ValueError if one is damaged.
        """
        folder = RunFolder(path)
        config = RunConfig.from_json(folder.require(folder.config))
        recipe = Recipe.read(folder)
        module = CellularModule(recipe.build(), recipe.task, recipe.scaling)
        load_weights(folder.require(folder.weights(weights)), module.model)
        return cls(folder, config, recipe, module)

    def open_source(self, source: str, labeled: bool) -> GraphSet:
        """The rows of a source, with the targets of this run if ``labeled``.

        Graphs that bring targets in their own file are read with them in any case.
        """
        table = is_table(source)
        return open_source(
            source,
            smiles_column=self.config.data.smiles_column if table else None,
            task=self.recipe.task if labeled or not table else None,
            features=build_features(self.config.data),
        )

    def prepare(self, rows: GraphSet) -> Prepared:
        """The complexes of some rows, made as those of this run.

        Rows over a limit of the lifting count as failures, as invalid ones do. Raises
        NoComplexError if there are only failures.
        """
        data = self.config.data
        return prepare(
            rows,
            build_lifting(data),
            build_encodings(data),
            workers=data.workers,
            over_limit="skip",
        )

    def outputs(
        self, complexes: RaggedComplexes, chosen: Int64[np.ndarray, " chosen"]
    ) -> Float32[np.ndarray, "row output"]:
        """Predictions of some complexes: values in the user's units, or logits."""
        return outputs_of(self.module, self.config, complexes, chosen)


def outputs_of(
    module: CellularModule,
    config: RunConfig,
    complexes: RaggedComplexes,
    chosen: Int64[np.ndarray, " chosen"],
) -> Float32[np.ndarray, "row output"]:
    """Predictions of some complexes: values in the user's units, or logits."""
    if not len(chosen):
        return np.zeros((0, module.task.outputs), np.float32)
    loader = batches(
        complexes,
        chosen,
        config.training.batch_size,
        shuffle=False,
        seed=config.training.seed,
        workers=config.training.loader_workers,
    )
    with quiet_lightning():
        trainer = pl.Trainer(
            logger=False, enable_checkpointing=False, **trainer_options(config.training)
        )
        parts = trainer.predict(module, loader)
    assert parts is not None
    rows: Float32[np.ndarray, "row output"] = (
        torch.cat([part for part in parts if isinstance(part, torch.Tensor)]).float().cpu().numpy()
    )
    return rows
