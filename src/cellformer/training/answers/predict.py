"""Predict row by row."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import expit, softmax

from cellformer.data.dataset import GraphSet, Task
from cellformer.data.preparation import Source
from cellformer.data.preparing.executors import one_by_one
from cellformer.data.tables.delimited import Dialect
from cellformer.data.tables.frames import attach
from cellformer.data.tables.table import ArrowFrame, Table
from cellformer.training.answers.answer import answer, open_input, residuals_for
from cellformer.training.answers.atom_predictions import listed_by_row
from cellformer.training.answers.conformal import Ends, Residuals
from cellformer.training.answers.ensemble import Ensemble, pooled, uncertainty
from cellformer.training.answers.pieces import in_own_cache

logger = logging.getLogger(__name__)

OnError = Literal["null", "skip", "fail"]


class RowError(ValueError):
    """A row has no prediction; ``row`` is its number, from 0."""

    def __init__(self, message: str, row: int):
        super().__init__(message, row)
        self.row = row

    def __str__(self) -> str:
        return str(self.args[0])


def predict(
    run: str | os.PathLike[str],
    source: Source,
    weights: str = "best",
    on_error: OnError = "null",
    interval: float | None = None,
    calibrate: Source | None = None,
    smiles_column: str | None = None,
    samples: int | None = None,
) -> Any:
    """All rows of a source in their order, with new columns.

    A table keeps all of its columns as they were written, a list, array or series of SMILES is a
    table with the one column ``smiles``; other sources give the row number, and where cells are
    predicted there is a row for every cell, with its number and that of its complex. Atoms and
    bonds of a table's molecules are lists in its rows instead, in the order in which they are
    written, None for hydrogens that are no vertices. A polars frame gives a polars frame, all else
    a pandas one, which has the index of a series.

    The new columns are, with the target's name appended where there are several: ``prediction``
    (a value in the units of training, or a class label), ``probability_LABEL`` of each class, of
    two classes the second one's (with several targets ``probability_TARGET_LABEL``),
    ``uncertainty`` for an ensemble (the standard deviation over its members of the value, or of
    the probability) and where the loss learns it (the standard deviation of the truth from the
    value), and with ``interval``, the probability that they are to hold the true value,
    ``lower`` and ``upper`` (see `Residuals`; ``calibrate`` names labeled rows that the run has
    not seen). The last one is ``error``: empty, or the reason why a row has no prediction. Where
    the table has a column of such a name already, the new one's name ends in a number.

    With ``samples`` every model answers so many times with the dropout of its training, and the
    answers count as those of an ensemble.

    ``on_error`` leaves a row without prediction blank ("null"), leaves it out ("skip"), or raises
    RowError ("fail"). Raises FileNotFoundError for a missing run or source, ValueError for one
    that cannot be read.
    """
    ensemble = Ensemble.open(Path(run), weights).by(samples=samples)
    return predict_with(ensemble, source, on_error, interval, calibrate, smiles_column).frame


@dataclass(frozen=True, eq=False)
class Predicted:
    """What `predict` gives, how its table was written, and how many of its rows failed."""

    frame: Any  # of pandas or polars
    dialect: Dialect
    rows: int
    failed: int


def predict_with(
    ensemble: Ensemble,
    source: Source,
    on_error: OnError = "null",
    interval: float | None = None,
    calibrate: Source | None = None,
    smiles_column: str | None = None,
) -> Predicted:
    """Does what `predict` does with models that are open already, and tells more."""
    opened = open_input(ensemble, source, labeled=False, smiles_column=smiles_column)
    level = _level_of(ensemble, interval, calibrate)
    _tell_units(ensemble.task)
    return _predicted(ensemble, source, opened, on_error, level)


def predict_pieces(
    ensemble: Ensemble,
    tables: Iterable[Table],
    on_error: OnError = "null",
    interval: float | None = None,
    calibrate: Source | None = None,
    smiles_column: str | None = None,
    executor: "PieceExecutor | None" = None,
) -> Iterator[Predicted]:
    """What `predict_with` says of a table that is given piece by piece.

    No more than a piece is held, or than an ``executor`` takes at a time, which answers elsewhere
    (`RayAnswers` on a cluster); what is prepared of it is not kept in the cache.
    """
    level = _level_of(ensemble, interval, calibrate)
    _tell_units(ensemble.task)

    def tasks() -> Iterator[PieceTask]:
        first = 0
        for table in tables:
            yield PieceTask(lambda: ensemble, table, first, on_error, level, smiles_column)
            first += len(table)

    for _, answered in (executor or one_by_one)(tasks()):
        yield answered


Level: TypeAlias = tuple[Residuals, float]
"""The errors that calibrate intervals, and how probable these are to hold the truth."""


@dataclass(frozen=True, eq=False)
class PieceTask:
    """A piece of a table to be answered, anywhere; a `RowsTask`."""

    models: Callable[[], Ensemble]
    table: Table
    start: int
    on_error: OnError
    level: Level | None
    smiles_column: str | None

    def __call__(self) -> Predicted:
        """Raises as `predict_with` does."""
        with in_own_cache(self.models()) as own:
            opened = open_input(own, self.table, labeled=False, smiles_column=self.smiles_column)
            return _predicted(own, self.table, opened, self.on_error, self.level, self.start)


PieceExecutor: TypeAlias = Callable[[Iterable[PieceTask]], Iterator[tuple[int, Predicted]]]
"""Answers pieces somewhere and gives each, with its first row, in their order."""


def _level_of(ensemble: Ensemble, interval: float | None, calibrate: Source | None) -> Level | None:
    if interval is None:
        if calibrate is not None:
            raise ValueError("rows to calibrate on are of use only with the level of an interval")
        return None
    residuals = residuals_for(ensemble, calibrate)
    residuals.reach(interval)  # raises before anything is predicted
    return residuals, interval


def _tell_units(task: Task) -> None:
    for target, unit in zip(task.targets, task.units, strict=False):
        if unit:
            logger.info("predictions of %s are in %s", target, unit)


def _predicted(
    ensemble: Ensemble,
    source: Source,
    opened: tuple[GraphSet, Table | None],
    on_error: OnError,
    level: Level | None,
    first_row: int = 0,
) -> Predicted:
    """The answers as a table; ``first_row`` is the number of the first one in its file."""
    rows, table = opened
    answers = answer(ensemble, rows)
    ends = None
    if level is not None:
        residuals, interval = level
        ends = residuals.interval(ensemble.task, pooled(ensemble.task, answers.outputs), interval)
    added = {**columns_of(ensemble.task, answers.outputs, ends), "error": list(answers.reasons)}
    if table is not None:
        frame = source if isinstance(source, pd.DataFrame | ArrowFrame) else table.frame
    else:
        frame = pd.DataFrame({"row": range(len(rows))})
    if answers.cells is not None and table is not None and ensemble.task.rank in (0, 1):
        added = listed_by_row(table, rows.smiles, answers.cells, added, ensemble.task.rank)
    elif answers.cells is not None:
        frame = answers.cells
    failed = [place for place, reason in enumerate(added["error"]) if reason]
    if failed and on_error == "fail":
        first = failed[0]
        if frame is answers.cells:
            first = int(frame["row"].iloc[first])
        raise RowError(
            f"{rows.name}: {len(failed)} of {len(rows)} rows have no prediction, the first is row "
            f"{first_row + first} (counted from 0): {added['error'][failed[0]]}",
            first_row + first,
        )
    kept = np.setdiff1d(np.arange(len(added["error"])), failed) if on_error == "skip" else None
    frame = attach(frame, added, kept)
    return Predicted(frame, table.dialect if table else Dialect(), len(rows), len(failed))


def columns_of(
    task: Task,
    answers: Float[np.ndarray, "member row output"],
    ends: Ends | None = None,
) -> dict[str, Any]:
    """Answers, and the ends of their intervals, as columns of a table; NaN gives blanks."""
    outputs = pooled(task, answers).astype(answers.dtype)
    apart, kind = uncertainty(task, answers), answers.dtype
    failed = np.asarray(np.isnan(outputs).any(axis=1))
    columns: dict[str, Any] = {}
    if task.kind == "multiclass":
        shares = softmax(outputs, axis=1)
        best = np.nan_to_num(shares).argmax(axis=1)
        columns["prediction"] = _labels(task, best, failed)
        for number, label in enumerate(task.labels):
            columns[f"probability_{label}"] = shares[:, number]
        if apart is not None:
            columns["uncertainty"] = np.take_along_axis(apart, best[:, None], 1)[:, 0].astype(kind)
        return columns
    for number, target in enumerate(task.targets):
        ending = f"_{target}" if len(task.targets) > 1 else ""
        if task.kind == "regression":
            columns[f"prediction{ending}"] = outputs[:, number]
        else:
            probability = expit(outputs[:, number])
            columns[f"prediction{ending}"] = _labels(task, (probability >= 0.5).astype(int), failed)
            columns[f"probability{ending}_{task.labels[1]}"] = probability
        if apart is not None:
            columns[f"uncertainty{ending}"] = apart[:, number].astype(kind)
        if ends is not None:
            columns[f"lower{ending}"], columns[f"upper{ending}"] = (e[:, number] for e in ends)
    return columns


def _labels(task: Task, numbers: NDArray[Any], failed: NDArray[np.bool_]) -> list[Any]:
    return [
        None if bad else task.labels[int(number)]
        for bad, number in zip(failed, numbers, strict=True)
    ]
