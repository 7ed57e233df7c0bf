"""A finished run, ready to predict."""

import os
from dataclasses import dataclass
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import torch
from jaxtyping import Float32, Int64

from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.dataset import GraphSet
from cellformer.data.fragments import keep_fragments
from cellformer.data.loading.loader import batches
from cellformer.data.preparing.prepare import Prepared, prepare
from cellformer.data.sources import open_source
from cellformer.data.tables.molecules import molecules
from cellformer.data.tables.table import Table, read_table
from cellformer.model.transformer import CellularTransformer
from cellformer.training.build import (
    build_descriptors,
    build_encodings,
    build_features,
    build_lifting,
    build_neighbors,
)
from cellformer.training.config import RunConfig, TrainingConfig
from cellformer.training.loop.lightning_options import quiet_lightning, trainer_options
from cellformer.training.loop.module import CellularModule
from cellformer.training.runs.recipe import Recipe
from cellformer.training.runs.run_folder import RunFolder, load_weights


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

    @property
    def model(self) -> CellularTransformer:
        """The model with these weights."""
        assert isinstance(self.module.model, CellularTransformer)
        return self.module.model

    def open_rows(
        self, source: str | os.PathLike[str] | Table, labeled: bool, smiles_column: str | None
    ) -> GraphSet:
        """The rows of a source or of a table, with the targets of this run if ``labeled``.

        Graphs that bring targets in their own file are read with them in any case. Without
        ``smiles_column`` the column of the run is taken where the table has it.
        """
        task, data = self.recipe.task, self.config.data
        features, descriptors = build_features(data), build_descriptors(data)
        if not isinstance(source, Table):
            opened = open_source(
                source,
                task=task,
                features=features,
                neighbors=build_neighbors(data),
                columns=data.descriptors,
                descriptors=descriptors,
            )
            return keep_fragments(opened, data.fragments)
        own = data.smiles_column
        column = smiles_column or (own if own in source.header else None)
        opened = molecules(
            source,
            None,
            column,
            task=task if labeled else None,
            features=features,
            columns=data.descriptors,
            descriptors=descriptors,
        )
        return keep_fragments(opened, data.fragments)

    def read_table(self, source: str | os.PathLike[str]) -> Table:
        """A table that is written like the one that this run learned from."""
        data = self.config.data
        return read_table(source, data.separator, data.charset)

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
        return outputs_of(self.module, self.config.training, complexes, chosen)


def outputs_of(
    module: CellularModule,
    config: TrainingConfig,
    complexes: RaggedComplexes,
    chosen: Int64[np.ndarray, " chosen"],
) -> Float32[np.ndarray, "row output"]:
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
        trainer = pl.Trainer(logger=False, enable_checkpointing=False, **trainer_options(config))
        parts = trainer.predict(module, loader)
    assert parts is not None
    rows: Float32[np.ndarray, "row output"] = (
        torch.cat([part for part in parts if isinstance(part, torch.Tensor)]).float().cpu().numpy()
    )
    return rows
