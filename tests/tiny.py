"""A tiny set of molecules, and changes to a configuration."""

from dataclasses import replace

import numpy as np

from cellformer.complexes.graph import Graph
from cellformer.data.readers.npz import write_npz
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, RunConfig, TrainingConfig

SMILES = (
    "C", "CC", "C=C", "CO", "CCO", "CC(C)O", "c1ccccc1", "Cc1ccccc1", "Oc1ccccc1", "C1CC1",
    "C1CCCCC1", "c1ccc2ccccc2c1", "CC(=O)O", "CC(=O)N", "[Na+].[Cl-]", "CCN(CC)CC", "c1ccncc1",
    "C1CCNCC1", "O=C1CCCCC1", "CC#N", "CSC", "ClC(Cl)Cl", "FC(F)F", "BrCC",
)  # fmt: skip


def write_molecules(path, y, **options):
    graphs = [Graph.from_smiles(text) for text in SMILES]
    rows = np.arange(len(graphs))
    split = {"train": rows[:16], "val": rows[16:20], "test": rows[20:]}
    write_npz(path, graphs, y, split, overwrite=True, **options)
    return path


def with_training(config, **values):
    return replace(config, training=replace(config.training, **values))


def tiny_run(source, epochs=2, **data):
    """A training of a source that takes a moment."""
    return RunConfig(
        data=DataConfig(source=str(source), encodings="rwpe:4", **data),
        model=ArchitectureConfig(width=16, layers=1, heads=2),
        training=TrainingConfig(epochs=epochs, batch_size=8, device="cpu"),
    )
