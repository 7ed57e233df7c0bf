import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.complexes.removal import without_cell
from cellformer.explaining import occlusion as module
from cellformer.explaining.occlusion import occlusion

ENCODINGS = (cf.RWPe(3), cf.RWBSPe(2))


@pytest.mark.parametrize("name", ["pairwise-mixed", "general-sparse"])
@pytest.mark.parametrize("anew", [False, True])
def test_occluding_a_cell_equals_predicting_without_it(make_model, molecules, name, anew):
    model = make_model(name, readout_cells="all").eval()
    for cells in molecules:
        found = occlusion(model, cells, ENCODINGS if anew else None, output=1)
        with torch.no_grad():
            whole = float(model(cf.collate([cells]))[0, 1])
        assert found.prediction == pytest.approx(whole, abs=1e-6)
        for rank, count in enumerate(cells.num_cells):
            assert found.ranks[rank].shape == (count,)
            for number in range(count):
                smaller = without_cell(cells, rank, number)
                smaller = cf.encode(smaller, ENCODINGS) if anew else smaller
                with torch.no_grad():
                    without = float(model(cf.collate([smaller]))[0, 1])
                assert whole - found.ranks[rank][number] == pytest.approx(without, abs=1e-5)


def test_batches_of_any_size_give_the_same(make_model, molecules, monkeypatch):
    model = make_model("pairwise-sparse")
    before = occlusion(model, molecules[1])
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 1)
    after = occlusion(model, molecules[1])
    for some, same in zip(before.ranks, after.ranks, strict=True):
        np.testing.assert_allclose(some, same, atol=1e-5)
    assert before.reference is None
