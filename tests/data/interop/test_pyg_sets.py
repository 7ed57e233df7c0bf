import warnings

import numpy as np
import pytest
import torch

import cellformer as cf

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of torch.jit
    from torch_geometric.data import Data, InMemoryDataset, OnDiskDataset
    from torch_geometric.datasets import FakeDataset
    from torch_geometric.loader import DataLoader
    from torch_geometric.transforms import Compose, Constant


def data(count, y):
    ring = torch.arange(count)
    return Data(
        x=torch.arange(count)[:, None] % 3,
        edge_index=torch.stack([ring, ring.roll(1)]),
        y=torch.tensor([y]),
    )


def items():
    return [data(3 + number, float(number) / 2) for number in range(6)]


class InMemory(InMemoryDataset):
    def __init__(self, transform=None):
        super().__init__(None, transform)
        self.data, self.slices = self.collate(items())


def test_data_sets_and_lists_become_graph_sets(tmp_path):
    on_disk = OnDiskDataset(str(tmp_path))
    on_disk.extend(items())
    for source in (items(), InMemory(), on_disk, InMemory()[:6]):
        opened = cf.from_pyg_dataset(source, split={"train": [0, 1, 2, 3], "val": [4], "test": [5]})
        assert opened.task.kind == "regression"
        assert opened.targets[:, 0].tolist() == [0, 0.5, 1, 1.5, 2, 2.5]
        assert [opened.graph(row).num_edges for row in range(6)] == [3, 4, 5, 6, 7, 8]
        assert opened.split["val"].tolist() == [4]
    on_disk.close()


def test_classes_and_sets_without_targets():
    opened = cf.from_pyg_dataset(FakeDataset(20, num_classes=3, task="graph"))
    assert opened.task.kind == "multiclass"
    plain = [data(3, 0.0), data(4, 0.0)]
    for item in plain:
        del item.y
    assert cf.from_pyg_dataset(plain).task_or_none is None
    with pytest.raises(ValueError, match="item 1 has no y"):
        cf.from_pyg_dataset([data(3, 0.0), plain[0]])
    two = data(3, 1.0)
    two.y = torch.tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="y of item 1 has 2 values"):
        cf.from_pyg_dataset([data(3, 0.5), two])


def test_the_transform_goes_with_any_data_set_loader_and_compose():
    add = cf.AddCells(encodings=(cf.RWBSPe(3),), lifting=cf.InducedCycles(max_length=5))
    dataset = InMemory(transform=Compose([Constant(), add]))
    batches = [cf.batch_from_pyg(batch) for batch in DataLoader(dataset, batch_size=4)]
    assert [batch.num_complexes for batch in batches] == [4, 2]
    assert batches[0].num_cells == (18, 18, 3)  # rings of 3, 4 and 5 are filled, one of 6 is not
    assert torch.cat([batch.targets for batch in batches])[:, 0].tolist() == [
        0, 0.5, 1, 1.5, 2, 2.5]  # fmt: skip
    graph = cf.from_pyg(InMemory()[1])
    alone = cf.encode(cf.lift(graph, add.lifting), list(add.encodings))
    np.testing.assert_array_equal(
        batches[0].encodings[0][3:7].numpy(), alone.encodings[0]
    )  # the second graph of the batch
