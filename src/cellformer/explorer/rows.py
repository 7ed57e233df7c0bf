"""Predictions of rows that another program sends as JSON."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from cellformer.data.tables.table import Table
from cellformer.explorer.inspection import MOST_CHARACTERS, Explorer
from cellformer.training.answers.predict import predict_pieces

MOST_ROWS = 1000
"""Of a table, and of a question."""
MOST_COLUMNS = 1000
"""Of all rows of a question together."""


def check_count(rows: int, what: str) -> None:
    """Raises ValueError for more rows than are answered at once."""
    if rows > MOST_ROWS:
        raise ValueError(
            f"{what} {rows} rows; the explorer takes up to {MOST_ROWS} "
            "(cellformer predict has no such limit)"
        )


def too_long(smiles: str) -> str:
    """What a SMILES is that is not read for its length; empty for any other."""
    if len(smiles) <= MOST_CHARACTERS:
        return ""
    return f"a SMILES of {len(smiles)} characters; the explorer takes up to {MOST_CHARACTERS}"


def predict_rows(explorer: Explorer, question: Mapping[str, Any]) -> dict[str, Any]:
    """What ``/predict`` answers to ``rows``, each a SMILES or an object with columns of a table.

    An entry for each row, in the same order, with its number, the columns that `predict` gives,
    and ``error``, why there is no prediction, or nothing. A run that predicts cells has lists in
    the entries of atoms and bonds, and otherwise an entry for every cell. Raises ValueError where
    the question as a whole cannot be answered.
    """
    unknown = [name for name in question if name != "rows"]
    if unknown:
        raise ValueError(f"a question has rows, and no {unknown[0]!r}")
    rows = question.get("rows")
    if not isinstance(rows, list) or not rows:
        raise ValueError("rows is a list of SMILES, or of objects with the columns of a table")
    check_count(len(rows), "the question has")
    reasons = [_fault(row) for row in rows]
    given = [number for number, reason in enumerate(reasons) if not reason]
    answers: dict[int, list[dict[str, Any]]] = {}
    if given:
        table, column = _table_of(explorer, [rows[number] for number in given])
        for place, text in enumerate(table.column(column)):
            reasons[given[place]] = reasons[given[place]] or too_long(text)
        kept = [place for place, number in enumerate(given) if not reasons[number]]
        if kept:
            answers = _answers(explorer, table, column, kept, given)
    told: list[dict[str, Any]] = []
    for number, reason in enumerate(reasons):
        told += answers.get(number) or [{"row": number, "error": reason}]
    return {"targets": list(explorer.run.recipe.task.targets), "predictions": told}


def _fault(row: object) -> str:
    """Why a row is none; empty for one that can be in a table."""
    if isinstance(row, str):
        return ""
    if not isinstance(row, dict) or not row:
        return "a row is a SMILES, or an object with the columns of a table"
    for name, value in row.items():
        if isinstance(value, list | dict):
            return f"{name[:100]} is neither a text nor a number"
    return ""


def _table_of(explorer: Explorer, rows: list[Any]) -> tuple[Table, str]:
    """The rows as a table of the columns that the run reads, and that of the SMILES."""
    chosen = explorer.run.config.data.smiles_column
    objects = [row if isinstance(row, dict) else {chosen or "smiles": row} for row in rows]
    columns = list(dict.fromkeys(name for row in objects for name in row))
    if len(columns) > MOST_COLUMNS:
        raise ValueError(f"the rows have {len(columns)} columns; up to {MOST_COLUMNS} are read")
    whole = Table.of_frame(
        pd.DataFrame({name: [_text(row.get(name)) for row in objects] for name in columns}),
        "the question",
    )
    column = whole.smiles_column(chosen)
    read = [column, *(name for name in explorer.run.preparation.columns if name in columns)]
    return Table.of_frame(whole.frame[list(dict.fromkeys(read))], "the question"), column


def _answers(
    explorer: Explorer, table: Table, column: str, kept: list[int], given: list[int]
) -> dict[int, list[dict[str, Any]]]:
    """The entries of each row of the question, of the rows of the table that are kept."""
    part = Table.of_frame(table.frame.iloc[kept].reset_index(drop=True), table.name)
    (predicted,) = predict_pieces(
        explorer.alone, [part], interval=explorer.interval, smiles_column=column
    )
    frame = predicted.frame
    by_cells = column not in frame
    own = frame["row"].tolist() if by_cells else range(len(frame))
    new = [name for name in frame if name != "row" and (by_cells or name not in part.frame)]
    found: dict[int, list[dict[str, Any]]] = {}
    for place, number in enumerate(own):
        row = given[kept[number]]
        entry = {name: _plain(frame[name].iloc[place]) for name in new}
        found.setdefault(row, []).append({"row": row, **entry})
    return found


def _text(value: object) -> str:
    """A value of JSON as the cell of a table."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value)


def _plain(value: Any) -> Any:
    """What JSON can say: numbers with the digits that they have, null for blanks."""
    if isinstance(value, list | np.ndarray):
        return [_plain(each) for each in value]
    if value is None or value is pd.NA:
        return None
    if isinstance(value, float | np.floating):
        return float(str(value)) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
