import pytest
import torch

import cellformer as cf
from cellformer.model.readout import Readout


def readout(**changed):
    options = {"all_ranks": False, "mean": False, "dropout": 0.0}
    return Readout(8, 2, 3, **{**options, **changed})


def test_hidden_layers_halve_in_width():
    shapes = [tuple(p.shape) for p in readout().network.parameters() if p.ndim == 2]
    assert shapes == [(4, 8), (2, 4), (3, 2)]


@pytest.mark.parametrize("all_ranks", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_each_complex_pools_its_own_cells(all_ranks, mean, ring, path, seeded):
    batch = cf.collate([path(2), ring(4), path(1)])
    module = readout(all_ranks=all_ranks, mean=mean)
    cells = [torch.randn(n, 8) for n in batch.num_cells]
    output = module(cells, batch)
    assert output.shape == (3, 3)
    for number in range(3):
        own = [cells[k][batch.complex_of(k) == number] for k in range(3 if all_ranks else 1)]
        rows = module.network(torch.cat(own))
        torch.testing.assert_close(output[number], rows.mean(0) if mean else rows.sum(0))


@pytest.mark.parametrize("mean", [False, True])
def test_a_complex_without_vertices_gets_zero(mean):
    bare = cf.CellComplex.from_boundaries([], 2)
    batch = cf.collate([bare, cf.CellComplex.from_boundaries([], 0)])
    output = readout(mean=mean)([torch.randn(2, 8)], batch)
    assert torch.equal(output[1], torch.zeros(3))
    assert torch.isfinite(output).all()
