"""From the values in a file to a task and to the numbers that a model learns."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64

from cellformer.basics.rounding import narrowed
from cellformer.data.columns import MOST_GUESSED, Column
from cellformer.data.dataset import (
    DEFAULT_METRIC,
    Kind,
    Label,
    Metric,
    Task,
)

Value: TypeAlias = int | float | str | None  # None where a value is missing
Columns: TypeAlias = Mapping[str, Column | Sequence[Value]]  # one per target, by name


def make_task(
    columns: Columns,
    kind: Kind,
    metric: Metric | None,
    where: str,
    units: Sequence[str] = (),
) -> Task:
    """The task of learning these columns; the labels of a classification are read off them.

    ``units`` are those that stand beside the values of each target. Raises ValueError if the
    values do not fit the kind.
    """
    labels = () if kind == "regression" else _labels(columns, kind, where)
    told = tuple(units) if any(units) else ()
    return Task(kind, tuple(columns), metric or DEFAULT_METRIC[kind], labels, units=told)


def classification_of(columns: Columns, where: str) -> Kind:
    """Binary if no column has more than two different values, else multi-class.

    Raises ValueError where a column has nearly as many different values as rows.
    """
    words = [name for name, values in columns.items() if _column(values).dtype != np.float64]
    for name, values in columns.items():
        column = _column(values)
        different, known = len(_known(values)), int((~pd.isna(column)).sum())
        if words and name not in words and different > MOST_GUESSED:
            raise ValueError(
                f"{where}: {name!r} has numbers and {words[0]!r} has classes, which are not "
                "learned together; learn each in a training of its own"
            )
        if different > MOST_GUESSED and different > known / 2:
            raise ValueError(
                f"{where}: {name!r} has {different} different values in {known} rows, which is "
                "hardly a classification; say of which kind it is: data.kind regression if they "
                "are numbers, multiclass if they name classes"
            )
    most = max(len(_known(values)) for values in columns.values())
    return "binary" if most <= 2 else "multiclass"


def kind_of_values(columns: Columns, where: str) -> Kind:
    """A regression where a number has a fraction, else what `classification_of` says, or raises."""
    known = [value for values in columns.values() for value in _known(values)]
    fractions = any(isinstance(value, float) and not value.is_integer() for value in known)
    return "regression" if fractions else classification_of(columns, where)


def encode_targets(columns: Columns, task: Task, where: str) -> Float[np.ndarray, "row target"]:
    """The columns as numbers, see `narrowed`; NaN where a value is missing.

    Raises ValueError, naming the row, at a value that is no number or no known class.
    """
    encoded = [
        _numbers(_column(values), f"{where}: target {name!r}")
        if task.kind == "regression"
        else _classes(_column(values), task.labels, f"{where}: target {name!r}")
        for name, values in columns.items()
    ]
    return narrowed(np.stack(encoded, axis=1))


def _column(values: Column | Sequence[Value]) -> Column:
    if isinstance(values, np.ndarray):
        return values
    if any(isinstance(value, str) for value in values):
        words: Column = np.empty(len(values), object)
        words[:] = [None if value is None else str(value) for value in values]
        return words
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _known(values: Column | Sequence[Value]) -> list[Any]:
    """The different values that occur, in order."""
    column = _column(values)
    return sorted(set(pd.unique(column[~pd.isna(column)]).tolist()))


def _numbers(values: Column, where: str) -> Float64[np.ndarray, " row"]:
    if values.dtype != np.float64:
        numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(np.float64)
        wrong = np.isnan(numbers) & ~pd.isna(values)
        if not wrong.any():
            return numbers
        row = int(wrong.argmax())
        raise ValueError(
            f"{where}: row {row} (counted from 0) is {values[row]!r}, not a number; correct it, "
            "leave it blank, or learn the column as classes"
        )
    with np.errstate(over="ignore"):
        infinite = np.isinf(values.astype(np.float32))
    if infinite.any():
        row = int(infinite.argmax())
        raise ValueError(
            f"{where}: row {row} (counted from 0) is {values[row]}, which is no finite float32; "
            "leave it blank where the value is unknown"
        )
    return values


def _classes(values: Column, labels: Sequence[Label], where: str) -> Float64[np.ndarray, " row"]:
    """Class numbers; each different value is looked up once."""
    codes, found = pd.factorize(values)  # -1 where a value is missing
    numbers = {label: number for number, label in enumerate(labels)}
    wanted = [_label(value, labels) for value in found.tolist()]
    for code, label in enumerate(wanted):
        if label not in numbers:
            row = int((codes == code).argmax())
            raise ValueError(
                f"{where}: row {row} (counted from 0) has the class {label!r}; the known classes "
                f"are {', '.join(map(repr, labels))}"
            )
    rows = np.array([*(numbers[label] for label in wanted), np.nan], np.float64)
    return rows[codes]


def _labels(columns: Columns, kind: Kind, where: str) -> tuple[Label, ...]:
    known = [_known(values) for values in columns.values()]
    labels: tuple[Label, ...]
    if any(isinstance(value, str) for values in known for value in values):
        labels = tuple(sorted({word(value) for values in known for value in values}))
    else:
        labels = tuple(sorted({_integer(value, where) for values in known for value in values}))
    if kind == "binary" and len(labels) < 2 and set(labels) <= {0, 1}:
        labels = (0, 1)  # one class may be absent, but which two are meant is clear
    if kind == "binary" and len(labels) != 2:
        raise ValueError(
            f"{where}: a binary task needs two classes, found {len(labels)}: "
            f"{', '.join(map(repr, labels[:5])) or 'none'}; choose another column"
        )
    if kind == "multiclass" and len(columns) > 1:
        raise ValueError(
            f"{where}: {', '.join(columns)} have more than two classes; choose one target"
        )
    if kind == "multiclass" and len(labels) < 2:
        raise ValueError(f"{where}: all rows are of one class, there is nothing to learn")
    return labels


def _integer(value: float, where: str) -> int:
    if not float(value).is_integer():
        raise ValueError(
            f"{where}: {value} is no class; learn the values as a regression (data.kind)"
        )
    return int(value)


def word(value: str | float) -> str:
    """A label as written; a whole number is written without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _label(value: str | float, labels: Sequence[Label]) -> Label:
    """The value as written in a task's labels."""
    if labels and isinstance(labels[0], str):
        return word(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return next((label for label in labels if str(label) == str(value)), str(value))
