import os
import pickle
import sqlite3
import warnings

import pytest
import torch

import cellformer as cf
from cellformer.data.sources import open_source
from raw_sets import Evil

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of torch.jit
    from torch_geometric.data import Data, InMemoryDataset, OnDiskDataset

VALUES = [0, 0.5, 1, 1.5, 2, 2.5]


def data(count, y):
    ring = torch.arange(count)
    return Data(
        x=torch.arange(count)[:, None] % 3,
        edge_index=torch.stack([ring, ring.roll(1)]),
        y=torch.tensor([y]),
    )


def items():
    return [data(3 + number, value) for number, value in enumerate(VALUES)]


def database(folder, rows, **options):
    made = OnDiskDataset(str(folder), **options)
    made.extend(rows)
    made.close()
    return folder


class InMemory(InMemoryDataset):
    """As a user writes one, with its own files."""

    processed_file_names = "data.pt"

    def __init__(self, root):
        super().__init__(root, pre_transform=lambda item: item)

    def process(self):
        self.save(items(), self.processed_paths[0])


def check(source):
    opened = open_source(source, metric="rmse")
    assert opened.task.metric == "rmse"
    assert opened.targets[:, 0].tolist() == VALUES
    assert opened.digest == cf.from_pyg_dataset(items()).digest
    return opened


def test_a_file_of_a_set_of_a_list_and_of_one_graph_opens_by_path(tmp_path):
    InMemoryDataset.save(items(), str(tmp_path / "data.pt"))
    torch.save(items(), tmp_path / "list.pt")
    torch.save(data(4, 1.5), tmp_path / "one.pt")
    assert check(tmp_path / "data.pt").name == "data"
    check(tmp_path / "list.pt")
    assert open_source(tmp_path / "one.pt").targets.tolist() == [[1.5]]


def test_the_folder_of_a_set_in_memory_opens_by_path(tmp_path):
    InMemory(str(tmp_path / "rings"))
    assert (tmp_path / "rings/processed/pre_transform.pt").exists()
    assert check(tmp_path / "rings").name == "rings"
    assert check(tmp_path / "rings/processed").name == "rings"


def test_files_of_a_split_become_its_parts(tmp_path):
    for part, rows in (("train", items()[:3]), ("val", items()[3:4]), ("test", items()[4:])):
        InMemoryDataset.save(rows, str(tmp_path / f"{part}.pt"))
    opened = check(tmp_path)
    assert {part: rows.tolist() for part, rows in opened.split.items()} == {
        "train": [0, 1, 2], "val": [3], "test": [4, 5]}  # fmt: skip
    torch.save(items(), tmp_path / "more.pt")
    with pytest.raises(ValueError, match="holds several data sets"):
        open_source(tmp_path)


def test_the_folder_of_a_set_on_disk_opens_by_path(tmp_path):
    check(database(tmp_path / "rings", items()))


def test_a_database_with_a_schema_or_damaged_is_refused(tmp_path):
    class WithSchema(OnDiskDataset):
        def serialize(self, item):
            return {"x": item.x, "edge_index": item.edge_index, "y": item.y}

    schema = {name: {"dtype": torch.int64, "size": (-1,)} for name in ("x", "edge_index", "y")}
    made = WithSchema(str(tmp_path / "a"), schema=schema)
    assert len(made) == 0  # the table is made when it is first used
    made.close()
    with pytest.raises(ValueError, match="has a schema of its own"):
        open_source(tmp_path / "a")
    database(tmp_path / "b", items())
    file = tmp_path / "b/processed/sqlite.db"
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(ValueError, match=r"sqlite\.db is no database of a PyG data set"):
        open_source(tmp_path / "b")


def test_a_malicious_file_is_never_run(tmp_path):
    evil = Evil(tmp_path / "made")
    for name, content in (("a", ({"x": evil}, None, Data)), ("b", [data(3, 1.0), evil]),
                          ("c", Data(x=torch.ones(2, 1), note=evil))):  # fmt: skip
        torch.save(content, tmp_path / f"{name}.pt")
        (tmp_path / f"{name}-old.pt").write_bytes(pickle.dumps(content))
    folder = database(tmp_path / "d", items())
    with sqlite3.connect(folder / "processed/sqlite.db") as connection:
        connection.execute("UPDATE OnDiskDataset SET COL_0 = ? WHERE id = 3", (pickle.dumps(evil),))
    connection.close()
    for path in (*tmp_path.glob("*.pt"), folder):
        with pytest.raises(ValueError, match="could run code"):
            open_source(path)
    assert not os.path.exists(tmp_path / "made")


def test_what_is_no_set_is_refused(tmp_path):
    torch.save({"weights": torch.ones(3)}, tmp_path / "model.pt")
    with pytest.raises(ValueError, match="neither a PyG data set in memory nor a list"):
        open_source(tmp_path / "model.pt")
