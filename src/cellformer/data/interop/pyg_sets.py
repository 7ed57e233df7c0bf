"""Data sets of PyTorch Geometric as graph sets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cellformer.data.dataset import DEFAULT_METRIC, GraphSet, Kind, Metric
from cellformer.data.flat import in_memory
from cellformer.data.interop.pyg_data import from_pyg
from cellformer.data.targets import Columns, Value, classification_of, encode_targets, make_task


def from_pyg_dataset(
    dataset: Any,
    split: Mapping[str, ArrayLike] | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    name: str | None = None,
) -> GraphSet:
    """The graphs of a PyG data set in its order, with ``y`` as targets where items have it.

    Any sequence of ``Data`` will do: a data set in memory or on disk, a part of one, or a list.
    Its ``transform`` is applied. Without ``kind``, ``y`` is a regression unless all of its values
    are whole numbers; NaN marks a missing one. Raises ValueError, naming
    the item, where ``y`` or the features of items differ in shape.
    """
    called = name or str(getattr(dataset, "name", None) or type(dataset).__name__)
    items = [dataset[index] for index in range(len(dataset))]
    graphs = [from_pyg(item, f"{called}[{index}]") for index, item in enumerate(items)]
    values = _targets(items, called)
    if values is None:
        return in_memory(graphs, split=split, name=called)
    names = ["y"] if values.shape[1] == 1 else [f"y{column}" for column in range(values.shape[1])]
    columns: Columns = {word: _plain(values[:, at]) for at, word in enumerate(names)}
    chosen = kind or _kind(values, columns, called)
    task = make_task(columns, chosen, metric or DEFAULT_METRIC[chosen], called)
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
                "targets of vertices are not read here"
            )
    return np.stack(rows)


def _plain(column: NDArray[np.float64]) -> list[Value]:
    return [None if value != value else value for value in column.tolist()]


def _kind(values: NDArray[np.float64], columns: Columns, where: str) -> Kind:
    known = values[np.isfinite(values)]
    whole = bool((known == np.round(known)).all())
    return classification_of(columns, where) if whole else "regression"
