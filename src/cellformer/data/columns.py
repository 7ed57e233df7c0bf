"""A column of cells, as it was written, as numbers or as words."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy.typing import NDArray

from cellformer.data.dataset import Kind
from cellformer.data.quantities import (
    STRETCH,
    Censored,
    Quantities,
    is_missing,
    read_quantities,
    texts_of,
)

Column: TypeAlias = NDArray[Any]
"""Numbers (float64, NaN where missing), or words (objects, None where missing)."""
MOST_GUESSED = 5
"""Of this many classes none needs to be named as a classification, however few the rows."""
ELSE_CLASSES = "or set data.kind to multiclass if the column names classes"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reading:
    """How the cells of columns are read."""

    where: str  # for messages
    decimal_comma: bool = False  # where commas do not separate columns
    censored: Censored = "refuse"


@dataclass(frozen=True, eq=False)
class ParsedColumn:
    """Numbers in a unit, or words.

    ``bounds`` are the values below and above which the truth is not, NaN where there is none;
    ``values`` are NaN there. None where bounds are not learned.
    """

    values: Column
    unit: str = ""
    bounds: Float64[np.ndarray, "cell side"] | None = None


def parse_targets(
    columns: "Mapping[str, pd.Series[Any]]",
    reading: Reading,
    kind: Kind | None,
    units: Mapping[str, str] | None = None,
) -> dict[str, ParsedColumn]:
    """Every column as numbers or words; ``kind`` is None where it is to be guessed.

    Numbers with one unit throughout are numbers, and ``units`` are those that a model has learned
    its targets in. Raises ValueError, naming column and rows, where a column is in several units or
    in another one than learned, where values are censored, and where no classification can be
    guessed of it: where most cells begin with a number, and where nearly all of them differ.
    """
    return {
        name: _target(name, cells, reading, kind, None if units is None else units.get(name, ""))
        for name, cells in columns.items()
    }


def parse_descriptor(
    name: str, cells: "pd.Series[Any]", reading: Reading, unit: str | None
) -> tuple[Float64[np.ndarray, " row"], str, dict[int, str]]:
    """A column as numbers, NaN where a cell is blank; its unit; and why rows cannot be used.

    ``unit`` is the one that a model has learned the column in, None where there is no such model.
    Raises ValueError where most cells are no numbers, and where there are several units.
    """
    if pd.api.types.is_numeric_dtype(cells):
        values = cells.to_numpy(np.float64, na_value=np.nan)
        read, told = None, unit or ""
        censored = strange = np.zeros(len(values), bool)
    elif (plain := _plain_numbers(cells, reading)) is not None and _are_finite(plain).all():
        if unit:
            logger.info("%s: column %r: its numbers are in %s", reading.where, name, unit)
        return plain, unit or "", {}
    else:
        read = read_quantities(texts_of(cells), reading.decimal_comma)
        values = read.values
        if unit is None:
            told = _one_unit(name, read, reading)
            strange = np.zeros(len(values), bool)
        else:
            told = unit
            strange = read.known & (read.units != "") & (read.units != unit)
        taken = reading.censored == "bound"
        censored = np.zeros(len(values), bool) if taken else read.bounds
    endless = ~_are_finite(values)
    unread = endless if read is None else endless | read.unread
    written = values if read is None else read.texts.to_numpy(object)
    faults = {}
    for row in np.flatnonzero(unread | censored | strange).tolist():
        why = "not a finite number"
        if censored[row]:
            why = "only a bound of its value (data.censored=bound takes it)"
        elif strange[row]:
            why = f"in another unit than learned from ({unit or 'plain numbers'})"
        faults[row] = f"column {name!r} is {written[row]!r}, {why}"
    filled = ~np.isnan(values) if read is None else read.known | read.unread
    if unread.sum() > filled.sum() / 2:
        row = int(unread.argmax())
        raise ValueError(
            f"{reading.where}: the descriptor {name!r} is no column of numbers: row {row} "
            f"(counted from 0) is {written[row]!r}"
        )
    if read is not None:
        _tell(name, read, told, reading)
    return np.where(censored | strange, np.nan, values), told, faults


def _target(
    name: str, cells: "pd.Series[Any]", reading: Reading, kind: Kind | None, unit: str | None
) -> ParsedColumn:
    if pd.api.types.is_numeric_dtype(cells):  # boolean too
        return ParsedColumn(cells.to_numpy(np.float64, na_value=np.nan), unit or "")
    numbers = _plain_numbers(cells, reading)
    if numbers is not None:
        told = unit or ""
        if told:
            logger.info("%s: column %r: its numbers are in %s", reading.where, name, told)
        return ParsedColumn(numbers, told)
    texts = texts_of(cells)
    read = read_quantities(texts, reading.decimal_comma)
    plain = not read.unread.any() and not (read.bounds | (read.units != "")).any()
    if kind in ("binary", "multiclass") and not plain:
        return ParsedColumn(_words(name, read, reading))
    if not read.known.any() or (read.unread.any() and kind is None):
        words = _words(name, read, reading)
        if read.unread.any() and kind is None:
            _check_words(name, words, read, reading)
        return ParsedColumn(words)
    if read.unread.any():
        unclear = " (a decimal comma, or one of thousands?)" if read.unclear.any() else ""
        raise ValueError(
            f"{reading.where}: target {name!r}: {_rows(read, read.unread)}, not a number{unclear}; "
            "correct it, leave it blank, or learn the column as classes"
        )
    found = _one_unit(name, read, reading)
    if unit is not None and found not in ("", unit):
        raise ValueError(
            f"{reading.where}: column {name!r} is in {found}, but the model has learned it in "
            f"{unit or 'plain numbers'}; convert it"
        )
    _refuse_bounds(name, read, reading)
    _tell(name, read, found or unit or "", reading)
    told = found if unit is None else unit
    if reading.censored != "learn" or not read.bounds.any():
        return ParsedColumn(read.values, told)
    bounds = [np.where(read.sides == side, read.values, np.nan) for side in (1, -1)]
    exact = np.where(read.bounds, np.nan, read.values)
    return ParsedColumn(exact, told, np.stack(bounds, axis=1))


def _plain_numbers(cells: "pd.Series[Any]", reading: Reading) -> Float64[np.ndarray, " row"] | None:
    """The cells as numbers, where each is blank or a number alone, and some are numbers; else None.

    They are looked at some at a time, so that few of them are Python's texts at once.
    """
    parts = []
    for start in range(0, len(cells), STRETCH):
        texts = texts_of(cells.iloc[start : start + STRETCH])
        read = read_quantities(texts, reading.decimal_comma)
        beside = read.unread | read.marked | read.commas | read.bounds | (read.units != "")
        if beside.any():
            return None
        parts.append(read.values)
    values = np.concatenate([np.zeros(0), *parts])
    return None if np.isnan(values).all() else values


def _are_finite(values: Float64[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
    """Which do not become infinite when they are kept in single precision."""
    with np.errstate(over="ignore"):
        return ~np.isinf(values.astype(np.float32))


def _words(name: str, read: Quantities, reading: Reading) -> Column:
    """The cells as words, None where one is blank or has a mark of a missing value."""
    missing = is_missing(read.texts)
    words: Column = read.texts.to_numpy(object, copy=True)
    words[(read.texts == "").to_numpy(bool) | missing] = None
    if missing.any():
        told = _marks(Counter(read.texts[missing].tolist()), len(words))
        logger.info("%s: column %r: %s", reading.where, name, told)
    return words


def _one_unit(name: str, read: Quantities, reading: Reading) -> str:
    """The unit of all numbers; raises ValueError where there are several."""
    column = f"{reading.where}: column {name!r}"
    units, first = np.unique(read.units[read.known].astype(str), return_index=True)
    rows = np.flatnonzero(read.known)[first]
    if len(units) > 1:
        shown = ", ".join(f"row {row} is {read.texts.iloc[row]!r}" for row in sorted(rows)[:4])
        raise ValueError(
            f"{column} is in several units (rows are counted from 0): {shown}; convert it to one, "
            f"{ELSE_CLASSES}"
        )
    points = read.texts.str.contains(".", regex=False).to_numpy(bool) & read.known & ~read.commas
    if read.commas.any() and points.any():
        raise ValueError(
            f"{column} has decimal commas and points: {_rows(read, read.commas)}, and "
            f"{_rows(read, points)}; write one of them"
        )
    return str(units[0]) if len(units) else ""


def _refuse_bounds(name: str, read: Quantities, reading: Reading) -> None:
    if read.bounds.any() and reading.censored == "refuse":
        raise ValueError(
            f"{reading.where}: column {name!r} has {int(read.bounds.sum())} values of which only a "
            f"bound is known: {_rows(read, read.bounds, 5)}; leave them blank, set data.censored "
            "to learn, so that predictions keep to the bounds, or to bound, which takes them for "
            f"values, {ELSE_CLASSES}"
        )


def _check_words(name: str, words: Column, read: Quantities, reading: Reading) -> None:
    """Raises ValueError unless a column that holds words is one of classes beyond doubt."""
    column = f"{reading.where}: column {name!r}"
    given = read.known | read.unread
    texts = read.texts[given]
    begun = given & read.texts.str.match(r"[<>=~≤≥±\s]*[+-]?[.,]?\d").to_numpy(bool)
    plain = read.known & (read.units == "") & ~read.bounds
    if plain.sum() > given.sum() / 2 or (read.known.any() and read.texts[read.unread].nunique() == 1
                                         and read.texts[read.known].nunique() > 1):  # fmt: skip
        unclear = " (a decimal comma, or one of thousands?)" if read.unclear.any() else ""
        raise ValueError(
            f"{column} holds numbers but {_rows(read, read.unread)}{unclear}; correct it, leave it "
            f"blank, {ELSE_CLASSES}"
        )
    if begun.sum() > given.sum() / 2:
        raise ValueError(
            f"{column} holds numbers with something beside them: {_rows(read, begun & ~plain)}; "
            f"write plain numbers, or all in one unit, {ELSE_CLASSES}"
        )
    different = texts.nunique()
    if different > MOST_GUESSED and different > len(texts) / 2:
        raise ValueError(
            f"{column} has {different} different words in {len(texts)} rows, which is hardly a "
            f"classification: {_rows(read, read.unread)}; choose another column, {ELSE_CLASSES}"
        )
    if pd.Series(texts.unique(), dtype=object).str.casefold().nunique() < different:
        twice = texts.drop_duplicates().str.casefold().duplicated(keep=False)
        rows = np.isin(np.arange(len(read.texts)), twice[twice].index) & ~pd.isna(words)
        raise ValueError(
            f"{column} has words that differ only in case: {_rows(read, rows, 2)}; write them "
            f"alike, {ELSE_CLASSES}"
        )


def _rows(read: Quantities, chosen: Bool[np.ndarray, " cell"], most: int = 1) -> str:
    """The first of some rows, as a text."""
    rows = np.flatnonzero(chosen)[:most].tolist()
    told = [f"row {row} (counted from 0) is {read.texts.iloc[row]!r}" for row in rows[:1]]
    told += [f"row {row} {read.texts.iloc[row]!r}" for row in rows[1:]]
    return ", ".join(told) + (", ..." if most > 1 and chosen.sum() > most else "")


def _marks(marks: Counter[str], cells: int) -> str:
    each = ", ".join(f"{mark!r} ({count})" for mark, count in marks.most_common(5))
    return f"{marks.total()} of {cells} cells are missing: {each}"


def _tell(name: str, read: Quantities, unit: str, reading: Reading) -> None:
    """One line of the log about what was read as something else than it says."""
    told = []
    if read.marks:
        told.append(_marks(read.marks, len(read.texts)))
    if read.commas.any():
        told.append(f"{int(read.commas.sum())} have a decimal comma")
    if unit:
        told.append(f"its numbers are in {unit}")
    if read.bounds.any() and reading.censored == "bound":
        told.append(f"{int(read.bounds.sum())} bounds are taken as values")
    if read.bounds.any() and reading.censored == "learn":
        told.append(f"{int(read.bounds.sum())} bounds are learned, and scores are without them")
    if told:
        logger.info("%s: column %r: %s", reading.where, name, "; ".join(told))
