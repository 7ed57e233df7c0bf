"""Models with weights that are not symmetric, and complexes that they take."""

import pytest
import torch

import cellformer as cf

ENCODINGS = (cf.RWPe(3), cf.RWBSPe(2))


def encoded(smiles):
    cells = cf.lift(cf.Graph.from_smiles(smiles), cf.InducedCycles(max_length=8))
    return cf.encode(cells, ENCODINGS)


@pytest.fixture(scope="session")
def molecules():
    """Naphthalene, one with a side chain, one without rings, one atom."""
    return [encoded(text) for text in ("c1ccc2ccccc2c1", "CC(=O)Nc1ccncc1", "CCO", "C")]


@pytest.fixture(scope="session")
def make_model(molecules):
    def make(attention, **options):
        torch.manual_seed(7)
        architecture = cf.ArchitectureConfig(**{"width": 16, "layers": 2, "heads": 4, **options})
        config = cf.ModelConfig.for_batch(cf.collate(molecules), architecture, outputs=2)
        return cf.CellularTransformer(config, cf.attention_plan(attention))

    return make
