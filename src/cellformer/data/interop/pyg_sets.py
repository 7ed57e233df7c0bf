"""Data sets of PyTorch Geometric as graph sets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cellformer.data.cell_targets import with_cell_targets
from cellformer.data.dataset import GraphSet, Kind, Metric, rows_of
from cellformer.data.flat import in_memory
from cellformer.data.interop.pyg_data import from_pyg
from cellformer.data.interop.pyg_labels import LabelsOf, cell_labels
from cellformer.data.targets import Columns, encode_targets, kind_of_values, make_task


def from_pyg_dataset(
    dataset: Any,
    split: Mapping[str, ArrayLike] | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    name: str | None = None,
    of: LabelsOf = "auto",
    flips: bool = False,
) -> GraphSet:
    """The graphs of a PyG data set in its order, with ``y`` as targets where items have it.

    Any sequence of ``Data`` will do: a data set in memory or on disk, a part of one, or a list.
    Its ``transform`` is applied. Without ``kind``, ``y`` is a regression unless all of its values
    are whole numbers; NaN marks a missing one.

    Where ``y`` of every item has a row for each vertex, the vertices have the targets; with one for
    each column of ``edge_index``, or with ``edge_label`` (and ``edge_label_index``), the edges
    have, and both directions of one have to agree. Labels that ``flips`` says are flows along the
    edges, so one direction has the value of the other with the other sign. ``of`` says so where it
    is not to be guessed. ``train_mask``, ``val_mask`` and ``test_mask`` are then the split, unless
    ``split`` names whole graphs. Raises ValueError, naming the item, where these or the features do
    not fit.
    """
    called = name or str(getattr(dataset, "name", None) or type(dataset).__name__)
    items = [dataset[index] for index in range(len(dataset))]
    graphs = [from_pyg(item, f"{called}[{index}]") for index, item in enumerate(items)]
    labels = cell_labels(items, graphs, of, called, flips)
    if labels is None and flips:
        raise ValueError(f"{called}: only targets of vertices or edges flip with the orientation")
    values = _targets(items, called) if labels is None else labels.values
    if values is None:
        return in_memory(graphs, split=split, name=called)
    names = ["y"] if values.shape[1] == 1 else [f"y{column}" for column in range(values.shape[1])]
    columns: Columns = {word: values[:, at] for at, word in enumerate(names)}
    if labels is not None:
        parts = labels.parts if split is None else None
        made = with_cell_targets(graphs, labels.rank, columns, parts, kind, metric, called,
                                 flips)  # fmt: skip
        return made if split is None else replace(made, split=rows_of(split))
    task = make_task(columns, kind or kind_of_values(columns, called), metric, called)
    return in_memory(graphs, encode_targets(columns, task, called), task, split, called)


def _targets(items: Sequence[Any], name: str) -> NDArray[np.float64] | None:
    with_y = [index for index, item in enumerate(items) if item.get("y") is not None]
    if not with_y:
        return None
    if len(with_y) != len(items):
        lacking = next(i for i in range(len(items)) if items[i].get("y") is None)
        raise ValueError(f"{name}: item {lacking} has no y, but item {with_y[0]} has")
    rows = [item.y.detach().cpu().numpy().astype(np.float64).ravel() for item in items]
    for index, row in enumerate(rows):
        if row.shape != rows[0].shape:
            raise ValueError(
                f"{name}: y of item {index} has {len(row)} values, that of item 0 {len(rows[0])}; "
                "those of vertices need a row for each vertex of every item"
            )
    return np.stack(rows)
