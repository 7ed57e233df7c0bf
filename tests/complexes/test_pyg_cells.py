import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings

import cellformer as cf
from strategies import assert_same_complex, complexes

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of torch.jit
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader


@given(complexes(features=True, encoding=3))
@settings(deadline=None, max_examples=30)
def test_a_complex_comes_back_as_it_was(cells):
    assert_same_complex(cf.complex_from_pyg(cf.complex_to_pyg(cells), cells.name), cells)


def molecules():
    return [
        cf.encode(cf.lift(cf.Graph.from_smiles(text), cf.InducedCycles()), [cf.RWPe(3), cf.BSPe(2)])
        for text in ("c1ccccc1O", "CCO", "C", "c1ccc2ccccc2c1", "C1CC1")
    ]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (2, 1, 3, 0, 4)])
def test_a_batch_of_pyg_is_a_batch_of_ours(order):
    listed = [molecules()[number] for number in order]
    items = []
    for number, cells in enumerate(listed):
        item = cf.complex_to_pyg(cells, max_rank=2)
        item.y = torch.tensor([[float(number)]])
        items.append(item)
    (batch,) = DataLoader(items, batch_size=5)
    for rank in (1, 2):  # the numbers are those of the union
        rows, columns = batch[f"boundary_index_{rank}"]
        union = cf.collate(listed).boundary(rank).tocoo()
        assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == set(
            zip(union.row.tolist(), union.col.tolist(), strict=True)
        )
    ours, theirs = cf.collate(listed), cf.batch_from_pyg(batch)
    assert theirs.targets[:, 0].tolist() == [0, 1, 2, 3, 4]
    config = cf.ModelConfig.for_batch(ours, cf.ArchitectureConfig(width=16, layers=1, heads=2))
    model = cf.CellularTransformer(config, cf.pairwise_mixed()).eval()
    assert torch.equal(model(ours), model(theirs))


def test_too_high_a_rank_and_data_without_a_complex_are_refused():
    with pytest.raises(ValueError, match="max_rank is 1"):
        cf.complex_to_pyg(molecules()[0], max_rank=1)
    with pytest.raises(ValueError, match="hold no complex"):
        cf.complex_from_pyg(Data(num_nodes=2))


def test_a_damaged_complex_is_refused():
    item = cf.complex_to_pyg(molecules()[0])
    item.boundary_sign_2[0] *= -1
    with pytest.raises(ValueError, match="zero"):
        cf.complex_from_pyg(item)


def test_what_the_data_held_is_kept():
    data = Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), mark="kept")
    made = cf.AddCells(encodings=(cf.RWPe(4),))(data)
    assert torch.equal(made.x, data.x)
    assert torch.equal(made.edge_index, data.edge_index)
    assert made.mark == "kept"
    assert made.pe_0.shape == (3, 4)
    assert np.abs(cf.complex_from_pyg(made).boundary(2).toarray()).tolist() == [[1], [1], [1]]
