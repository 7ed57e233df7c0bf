"""A configuration that trains on a tiny data set within seconds."""

import numpy as np
import pytest

from cellformer.complexes.graph import Graph
from cellformer.model.config import ArchitectureConfig
from cellformer.training.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from tiny import SMILES, write_molecules


@pytest.fixture
def molecules_npz(tmp_path):
    """24 molecules whose target is the number of atoms, 16 of them to train on."""
    sizes = np.array([Graph.from_smiles(text).num_vertices for text in SMILES], float)
    return write_molecules(tmp_path / "molecules.npz", sizes)


@pytest.fixture
def tiny(molecules_npz):
    """Every kind of randomness is on: dropout, random signs, shuffling."""
    return RunConfig(
        data=DataConfig(source=str(molecules_npz), encodings="bspe:3+rwpe:2"),
        attention="general-sparse",
        model=ArchitectureConfig(width=16, layers=2, heads=2, dropout=0.1, attention_dropout=0.1),
        optimizer=OptimizerConfig(peak_rate=1e-2),
        training=TrainingConfig(epochs=4, batch_size=5, device="cpu"),
    )
