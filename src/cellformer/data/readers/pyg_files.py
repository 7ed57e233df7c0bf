"""Data sets that PyTorch Geometric keeps on disk, read without running what is in them.

All of its files are pickles, which could run code. Only tensors, plain containers, and PyG's own
classes of graphs and of their attributes are read of them; whatever else a file names is refused.
"""

import io
import sqlite3
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cellformer.basics.archives import check_archive, one_line
from cellformer.data.dataset import PARTS, GraphSet, Kind, Metric
from cellformer.data.interop.pyg_labels import LabelsOf
from cellformer.data.interop.pyg_sets import from_pyg_dataset

DATABASE = "sqlite.db"
SETTINGS = ("pre_transform.pt", "pre_filter.pt")  # words that PyG compares, no graphs


def is_pyg_folder(folder: Path) -> bool:
    """Whether a folder is the root of a PyG data set, or its folder ``processed``."""
    return bool(_files(folder))


def read_pyg(
    path: Path, kind: Kind | None = None, metric: Metric | None = None, of: LabelsOf = "auto"
) -> GraphSet:
    """The graphs of a PyG data set: a file or a folder that PyG wrote.

    A ``.pt`` file holds a data set in memory, one graph, or a list of graphs. A folder is the root
    of a data set (or its ``processed``) and holds such a file, or those of a split (``train.pt``,
    ``val.pt``, ``test.pt``), or the database of an ``OnDiskDataset`` without a schema. Targets,
    ``kind`` and ``of`` are those of `from_pyg_dataset`. Raises ValueError, naming the file, where
    it holds something else or is damaged; files of PyG before 2.4 name further classes and are
    refused.
    """
    if path.is_file():
        return from_pyg_dataset(_items(path), None, kind, metric, path.stem, of)
    files = _files(path)
    if not files:
        raise ValueError(f"{path} is no folder of a PyG data set: it has no .pt file or {DATABASE}")
    name = path.parent.name if path.name == "processed" else path.name
    if len(files) == 1:
        return from_pyg_dataset(_items(files[0]), None, kind, metric, name, of)
    by_part = {file.stem: file for file in files}
    if not by_part.keys() <= set(PARTS):
        raise ValueError(
            f"{files[0].parent} holds several data sets ({', '.join(f.name for f in files)}); give "
            "the path of one of these files"
        )
    items = {part: _items(by_part[part]) for part in PARTS if part in by_part}
    ends = np.cumsum([0, *map(len, items.values())])
    split = {part: np.arange(*ends[at : at + 2]) for at, part in enumerate(items)}
    joined = [item for part in items.values() for item in part]
    return from_pyg_dataset(joined, split, kind, metric, name, of)


def _files(folder: Path) -> list[Path]:
    for place in (folder, folder / "processed"):
        found = sorted(
            file
            for file in (*place.glob("*.pt"), *place.glob(DATABASE))
            if file.is_file() and file.name not in SETTINGS
        )
        if found:
            return found
    return []


def _items(file: Path) -> Sequence[Any]:
    from torch_geometric.data import Data

    if file.name == DATABASE:
        return _rows_of(file)
    if zipfile.is_zipfile(file):  # of older versions of PyTorch it is none
        check_archive(file)
    content = _load(file, file)
    match content:
        case Data():
            return [content]
        case list() | tuple() if content and all(isinstance(one, Data) for one in content):
            return content
        case (dict(data), dict() | None as slices, *_):
            return _in_memory(data, slices)
    raise ValueError(f"{file} holds neither a PyG data set in memory nor a list of its Data")


def _in_memory(data: dict[str, Any], slices: Any) -> list[Any]:
    from torch_geometric.data import Data, InMemoryDataset

    class Kept(InMemoryDataset):  # type: ignore[misc]
        """What is in the file, without a folder."""

        def __init__(self) -> None:
            super().__init__(None)
            self.data, self.slices = Data.from_dict(data), slices

    kept = Kept()
    return [kept[index] for index in range(len(kept))]


def _rows_of(file: Path) -> list[Any]:
    """The graphs in the only table of a database, each a file of torch.save."""
    from torch_geometric.data import Data

    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
        try:
            found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = [name for (name,) in found]
            described = [connection.execute(f"PRAGMA table_info({_quoted(t)})") for t in tables]
            columns = [row[1] for table in described for row in table]
            if len(tables) != 1 or columns != ["id", "COL_0"]:
                raise ValueError(
                    f"{file} has a schema of its own, whose types only its class knows: open the "
                    "set with that class and pass it to from_pyg_dataset"
                )
            query = f"SELECT id, COL_0 FROM {_quoted(tables[0])} ORDER BY id"
            items = [_load(io.BytesIO(row), file) for _, row in connection.execute(query)]
        finally:
            connection.close()
    except (sqlite3.Error, TypeError) as error:
        raise ValueError(f"{file} is no database of a PyG data set, or damaged ({error})") from None
    if not all(isinstance(item, Data) for item in items):
        raise ValueError(f"{file} holds rows that are no graphs of PyG")
    return items


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _load(source: Any, file: Path) -> Any:
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    try:
        with (
            torch.serialization.safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", UserWarning)  # of a foreign pickle; an error follows
            return torch.load(source, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle raises nearly any kind
        raise ValueError(
            f"{file} holds more than tensors and graphs of PyG, or is damaged, and is not read, as "
            "that could run code. Open the set with PyG yourself and pass it to from_pyg_dataset "
            f"({one_line(error)})"
        ) from None
