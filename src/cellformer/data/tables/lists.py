"""Cells of a table that hold a list of values, one for each atom or bond of the row's molecule."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from cellformer.data.quantities import MISSING, STRETCH

ListEntry: TypeAlias = float | str | None
"""A number, a word, or None where the value is missing."""

_BRACKETED = re.compile(r"\s*[\[(].*[\])]\s*", re.DOTALL)


def holds_lists(cells: "pd.Series[Any]") -> bool:
    """Whether most of the cells that are filled are lists beyond doubt.

    These are lists of a data frame, texts in brackets, and numbers between semicolons.
    """
    if pd.api.types.is_numeric_dtype(cells):
        return False
    filled = lists = 0
    for start in range(0, len(cells), STRETCH):
        known = [cell for cell in cells.iloc[start : start + STRETCH] if not _is_blank(cell)]
        filled += len(known)
        lists += sum(map(_is_list, known))
    return lists > filled / 2


def entries_of(cell: Any) -> list[ListEntry] | None:
    """The values that a cell lists; None where it is blank.

    Lists of a data frame; JSON; else what stands between semicolons, or commas in brackets, or else
    blanks. A value alone is a list of one.
    """
    if _is_blank(cell):
        return None
    if isinstance(cell, list | tuple | np.ndarray):
        return [_entry(value) for value in list(cell)]
    if not isinstance(cell, str):
        return [_entry(cell)]
    text = cell.strip()
    bracketed = _BRACKETED.fullmatch(text) is not None
    if bracketed:
        try:
            return [_entry(value) for value in json.loads(text)]
        except (ValueError, TypeError, RecursionError):
            text = text[1:-1].strip()
    if not text:
        return []
    for separator in (";", ",") if bracketed else (";",):
        if separator in text:
            comma = separator == ";"
            return [_read(part, comma) for part in text.split(separator)]
    return [_read(part, False) for part in text.split()]


def as_json(values: Sequence[Any]) -> str:
    """A list as text that `entries_of` and any reader of JSON take for the same."""
    told = [None if isinstance(v, float) and not math.isfinite(v) else v for v in values]
    return json.dumps(told, ensure_ascii=False, default=_plain)


CONTAINERS = (list, tuple, np.ndarray, dict, bytes)
"""Kinds of cells that are no single value."""


def as_text(cell: Any) -> Any:
    """Lists and mappings as JSON, bytes as hexadecimal digits; any other cell as it is."""
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, dict):
        return json.dumps(cell, ensure_ascii=False, default=_plain)
    return as_json(list(cell)) if isinstance(cell, CONTAINERS) else cell


def _plain(value: Any) -> Any:
    """What JSON has no word for, by what it has."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value.hex() if isinstance(value, bytes) else str(value)


def _is_blank(cell: Any) -> bool:
    if isinstance(cell, list | tuple | np.ndarray):
        return False
    return bool(pd.isna(cell)) or (isinstance(cell, str) and _is_mark(cell))


def _is_list(cell: Any) -> bool:
    if not isinstance(cell, str):
        return isinstance(cell, list | tuple | np.ndarray)
    if _BRACKETED.fullmatch(cell):
        return True
    entries = entries_of(cell) if ";" in cell else None
    return entries is not None and any(isinstance(entry, float) for entry in entries)


def _is_mark(text: str) -> bool:
    return text.strip() == "" or text.strip().lower() in MISSING


def _entry(value: Any) -> ListEntry:
    if isinstance(value, str):
        return _read(value, False)
    if isinstance(value, list | tuple | dict | np.ndarray):
        return str(value)  # which is neither a number nor a class that occurs twice
    return None if pd.isna(value) else float(value)


def _read(text: str, decimal_comma: bool) -> ListEntry:
    word = text.strip().strip("'\"").strip()
    if _is_mark(word):
        return None
    try:
        return float(word.replace(",", ".") if decimal_comma else word)
    except ValueError:
        return word
