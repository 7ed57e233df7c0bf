import pytest
import torch

import cellformer as cf
from cellformer.model.config import DataShape
from cellformer.model.readouts.readout import CellReadout, Readout


def readout(**changed):
    options = {"cells": "vertices", "pooling": "sum", "hidden_layers": 2, "dropout": 0.0}
    return Readout(8, 3, **{**options, **changed})


def test_hidden_layers_halve_in_width():
    shapes = [tuple(p.shape) for p in readout().network.parameters() if p.ndim == 2]
    assert shapes == [(4, 8), (2, 4), (3, 2)]


@pytest.mark.parametrize("read", ["vertices", "all"])
@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_each_complex_pools_its_own_cells(read, pooling, ring, path, seeded):
    batch = cf.collate([path(2), ring(4), path(1)])
    module = readout(cells=read, pooling=pooling)
    cells = [torch.randn(n, 8) for n in batch.num_cells]
    output = module(cells, batch)
    assert output.shape == (3, 3)
    for number in range(3):
        own = [cells[k][batch.complex_of(k) == number] for k in range(3 if read == "all" else 1)]
        rows = module.network(torch.cat(own))
        torch.testing.assert_close(output[number], getattr(rows, pooling)(0))


@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_a_complex_without_vertices_gets_zero(pooling):
    bare = cf.CellComplex.from_boundaries([], 2)
    batch = cf.collate([bare, cf.CellComplex.from_boundaries([], 0)])
    output = readout(pooling=pooling)([torch.randn(2, 8)], batch)
    assert torch.equal(output[1], torch.zeros(3))
    assert torch.isfinite(output).all()


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_cells_are_read_out_one_by_one(rank, ring, path, seeded):
    batch = cf.collate([ring(4), path(2), ring(3)])
    module = CellReadout(8, 2, 3, rank=rank, dropout=0.0)
    cells = [torch.randn(n, 8) for n in batch.num_cells]
    output = module(cells, batch)
    assert output.shape == (batch.num_cells[rank], 3)
    torch.testing.assert_close(output, module.network(cells[rank]))


def test_a_batch_without_the_rank_has_no_rows(path):
    batch = cf.collate([path(2)])
    flat = [torch.randn(n, 8) for n in batch.num_cells][:2]
    assert CellReadout(8, 1, 3, rank=2, dropout=0.0)(flat, batch).shape == (0, 3)


@pytest.mark.parametrize("final_norm", [False, True])
def test_a_model_of_cells_does_not_mix_complexes(final_norm, ring, path, seeded):
    together = cf.collate([ring(4), path(2), ring(3)])
    config = cf.ModelConfig(
        cf.ArchitectureConfig(width=16, layers=2, heads=2, final_norm=final_norm),
        DataShape.of(together, 2, target_rank=1),
    )
    model = cf.CellularTransformer(config, cf.pairwise_mixed()).eval()
    assert cf.ModelConfig.from_dict(config.to_dict()) == config
    alone = [model(cf.collate([one])) for one in (ring(4), path(2), ring(3))]
    torch.testing.assert_close(model(together), torch.cat(alone))


def test_a_rank_that_the_data_lack_is_refused():
    with pytest.raises(ValueError, match="target_rank must be one of the 1 ranks"):
        DataShape(target_rank=1)
