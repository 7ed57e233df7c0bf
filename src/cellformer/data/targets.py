"""From the values in a file to a task and to the numbers that a model learns."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32

from cellformer.data.dataset import (
    DEFAULT_METRIC,
    Kind,
    Label,
    Metric,
    Task,
    class_numbers,
)

Value: TypeAlias = int | float | str | None  # None where a value is missing
Columns: TypeAlias = Mapping[str, Sequence[Value]]  # one per target, by name


def make_task(columns: Columns, kind: Kind, metric: Metric | None, where: str) -> Task:
    """The task of learning these columns; the labels of a classification are read off them.

    Raises ValueError if the values do not fit the kind.
    """
    labels = () if kind == "regression" else _labels(columns, kind, where)
    return Task(kind, tuple(columns), metric or DEFAULT_METRIC[kind], labels)


def classification_of(columns: Columns) -> Kind:
    """Binary if no column has more than two different values, else multi-class."""
    most = max(len(set(values) - {None}) for values in columns.values())
    return "binary" if most <= 2 else "multiclass"


def encode_targets(columns: Columns, task: Task, where: str) -> Float32[np.ndarray, "row target"]:
    """The columns as numbers; NaN where a value is missing.

    Raises ValueError, naming the row, at a value that is no number or no known class.
    """
    encoded = [
        _numbers(values, f"{where}: target {name!r}")
        if task.kind == "regression"
        else class_numbers(
            [_label(value, task.labels) for value in values],
            task.labels,
            f"{where}: target {name!r}",
        )
        for name, values in columns.items()
    ]
    return np.stack(encoded, axis=1)


def _numbers(values: Sequence[Value], where: str) -> Float32[np.ndarray, " row"]:
    rows = np.full(len(values), np.nan, np.float32)
    for row, value in enumerate(values):
        if value is None:
            continue
        if isinstance(value, str):
            raise ValueError(
                f"{where}: row {row} (counted from 0) is {value!r}, not a number; correct it, "
                "leave it blank, or learn the column as classes"
            )
        rows[row] = value
        if not math.isfinite(rows[row]):
            raise ValueError(
                f"{where}: row {row} (counted from 0) is {value}, which is no finite float32; "
                "leave it blank where the value is unknown"
            )
    return rows


def _labels(columns: Columns, kind: Kind, where: str) -> tuple[Label, ...]:
    values = {value for column in columns.values() for value in column if value is not None}
    words = any(isinstance(value, str) for value in values)
    labels: tuple[Label, ...]
    if words:
        labels = tuple(sorted({str(value) for value in values}))
    else:
        labels = tuple(sorted({_integer(value, where) for value in values}))
    if kind == "binary" and len(labels) < 2 and set(labels) <= {0, 1}:
        labels = (0, 1)  # one class may be absent, but which two are meant is clear
    if kind == "binary" and len(labels) != 2:
        raise ValueError(
            f"{where}: a binary task needs two classes, found {len(labels)}: "
            f"{', '.join(map(repr, labels[:5]))}"
        )
    if kind == "multiclass" and len(columns) > 1:
        raise ValueError(
            f"{where}: {', '.join(columns)} have more than two classes; choose one target"
        )
    if kind == "multiclass" and len(labels) < 2:
        raise ValueError(f"{where}: all rows are of one class, there is nothing to learn")
    return labels


def _integer(value: Value, where: str) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{where}: {value} is no class number; learn the values as a regression")
    return int(value or 0)


def _label(value: Value, labels: Sequence[Label]) -> Label | None:
    """The value as written in a task's labels."""
    if value is None:
        return None
    if labels and isinstance(labels[0], str):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else str(value)
