"""Tables as delimited text that is read back the same, by whatever reads it."""

import csv
import re
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from cellformer.data.tables.delimited import Dialect
from cellformer.data.tables.lists import CONTAINERS, as_text

FORMULA = r"^[=+\-@\t\r]"  # what spreadsheets take for the beginning of a formula


@runtime_checkable
class TextSink(Protocol):
    """Where text can be written, such as an open file."""

    def write(self, text: str, /) -> int:
        """Takes the text, and says how much of it."""


def write_delimited(
    frame: pd.DataFrame,
    target: Path | TextSink,
    dialect: Dialect | None = None,
    **options: Any,
) -> None:
    """Writes a table to a file or an open one; ``options`` are those of pandas' ``to_csv``.

    A cell that holds a separator, a quote or a line break stands in quotes. Where a line break is
    none of the table's own, all text does: Python's csv leaves such a one bare, which ends the row
    for those who read it. Lists and mappings are written as JSON, bytes as hexadecimal digits.
    """
    dialect = dialect or Dialect()
    frame = _with_containers_as_text(frame)
    sink: Any = target
    settings: dict[str, Any] = {
        "index": False,
        "sep": dialect.separator,
        "decimal": "." if dialect.separator == "," else dialect.decimal,
        "lineterminator": dialect.newline,
        "quoting": csv.QUOTE_NONNUMERIC if _breaks_lines(frame, dialect) else csv.QUOTE_MINIMAL,
    }
    frame.to_csv(sink, **settings, **options)


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with an apostrophe before each text that a spreadsheet would run as a formula."""
    safe = frame.copy()
    for place in _texts(frame):
        column = frame.iloc[:, place]
        formulas = _matching(column, FORMULA)
        if formulas.any():
            escaped = column.astype(object).where(~formulas, "'" + column.astype(str))
            safe.isetitem(place, escaped.to_numpy())
    return safe


def _with_containers_as_text(frame: pd.DataFrame) -> pd.DataFrame:
    kept = frame
    for place in _texts(frame):
        cells = frame.iloc[:, place].tolist()
        if any(isinstance(cell, CONTAINERS) for cell in cells):
            kept = frame.copy() if kept is frame else kept
            kept.isetitem(place, pd.Series(map(as_text, cells), dtype=object).to_numpy())
    return kept


def _breaks_lines(frame: pd.DataFrame, dialect: Dialect) -> bool:
    """Whether a line break would stand in a cell without quotes."""
    others = "".join(sign for sign in "\r\n" if sign not in dialect.newline)
    if not others:
        return False
    # Where none of what puts a cell in quotes is in it.
    bare = rf"^[^\"{re.escape(dialect.separator)}{dialect.newline}]*[{others}]"
    bare += rf"[^\"{re.escape(dialect.separator)}{dialect.newline}]*$"
    if any(re.search(bare, str(name)) for name in frame.columns):
        return True
    return any(_matching(frame.iloc[:, place], bare).any() for place in _texts(frame))


def _texts(frame: pd.DataFrame) -> list[int]:
    """The places of the columns that may hold text."""
    return [
        place for place, kind in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(kind)
    ]


def _matching(column: "pd.Series[Any]", pattern: str) -> "pd.Series[bool]":
    return column.astype(str).str.contains(pattern, regex=True) & column.notna()
