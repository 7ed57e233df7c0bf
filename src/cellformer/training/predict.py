"""Predict row by row."""

from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import expit, softmax

from cellformer.data.dataset import Task
from cellformer.data.prepare import NoComplexError, Prepared
from cellformer.data.table import is_table, read_table
from cellformer.training.cell_predictions import cell_rows, spread_outputs
from cellformer.training.trained import TrainedRun


def predict(run: Path, source: str, weights: str = "best") -> pd.DataFrame:
    """All rows of a source in their order, with new columns.

    A table keeps all of its columns as they were written; other sources give the row number, and
    where cells are predicted the number of each cell, with a row for every cell. The
    new columns are ``prediction`` (a value in the units of training, or a class label; with the
    target's name appended where there are several), ``probability`` for classes, and ``error``:
    empty, or the reason why a row has no prediction. Where the table has a column of such a name
    already, the new one's name ends in a number.

    Raises FileNotFoundError for a missing run or source, ValueError for one that cannot be read.
    """
    trained = TrainedRun.open(run, weights)
    rows = trained.open_source(source, labeled=False)
    task = trained.recipe.task
    reasons = np.full(len(rows), "", dtype=object)
    outputs = np.full((len(rows), task.outputs), np.nan)
    prepared: Prepared | None = None
    try:
        prepared = trained.prepare(rows)
    except NoComplexError as nothing:
        failures = nothing.failures
    else:
        failures = prepared.failures
        found = trained.outputs(prepared.complexes, np.arange(len(prepared.rows)))
        if task.rank is None:
            outputs[prepared.rows] = found
    for row, reason in failures:
        reasons[row] = reason
    if task.rank is not None:
        frame = cell_rows(prepared, task.rank, len(rows))
        outputs = np.full((len(frame), task.outputs), np.nan)
        if prepared is not None:
            outputs = spread_outputs(found, frame)
        reasons = reasons[frame["row"].to_numpy()]
        frame = frame.drop(columns="place")
    elif is_table(source):
        table = read_table(source)
        frame = pd.DataFrame(table.rows, columns=list(table.header), dtype=str)
    else:
        frame = pd.DataFrame({"row": range(len(rows))})
    added = {**columns_of(task, outputs), "error": reasons}
    for name, values in added.items():
        frame[_free_name(name, list(frame.columns))] = pd.Series(values)
    return frame


def columns_of(
    task: Task, outputs: Float[np.ndarray, "row output"]
) -> dict[str, list[object] | Float[np.ndarray, " row"]]:
    """Predictions as columns of a table; NaN outputs give blanks."""
    failed = np.isnan(outputs).any(axis=1)
    columns: dict[str, list[object] | Float[np.ndarray, " row"]] = {}
    if task.kind == "multiclass":
        shares = softmax(outputs, axis=1)
        best = np.nan_to_num(shares).argmax(axis=1)
        columns["prediction"] = [
            None if bad else task.labels[number] for bad, number in zip(failed, best, strict=True)
        ]
        for number, label in enumerate(task.labels):
            columns[f"probability_{label}"] = shares[:, number]
        return columns
    for number, target in enumerate(task.targets):
        ending = f"_{target}" if len(task.targets) > 1 else ""
        if task.kind == "regression":
            columns[f"prediction{ending}"] = outputs[:, number]
            continue
        probability = expit(outputs[:, number])
        columns[f"prediction{ending}"] = [
            None if bad else task.labels[int(share >= 0.5)]
            for bad, share in zip(failed, probability, strict=True)
        ]
        columns[f"probability{ending}"] = probability
    return columns


def _free_name(name: str, taken: list[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
