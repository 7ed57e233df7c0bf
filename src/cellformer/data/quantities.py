"""Cells of text as numbers: marks of missing values, decimal commas, units, and bounds."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int8
from numpy.typing import NDArray

Censored: TypeAlias = Literal["refuse", "bound", "learn"]
"""What a value such as >5 is: an error, its bound, 5, or a bound that predictions are to keep."""

MISSING = ("na", "n/a", "nan", "null", "none", "n.d.", "n.a.", "n. d.", "n. a.", "k.a.",
           "k. a.", "n.b.", "#n/a", "#nv", "<na>", "#value!", "#wert!", "#div/0!", "#ref!",
           "#name?", "#num!")  # fmt: skip
"""Marks of a missing value, in any case, that nobody takes for a class."""
MISSING_NUMBER = ("nd", "ka", "nil", "missing", "unknown", "undefined", "tbd", "n/d", "n/t", "nt",
                  "not determined", "not available", "not tested", "not measured", "fehlt",
                  "unbekannt", "nicht bestimmt", "keine angabe", "inconnu",
                  "desconocido")  # fmt: skip
"""Further ones among numbers; where a column has words they may be classes."""
_SIGNS_ONLY = r"[-\u2013\u2014\u2212?.*\u2026/~_]+"
_NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?"
_WORD = r"(?:[^\W\d_]|[%‰°'\"\u2032\u2033])+(?:\^?[-+]?\d+|[⁰-⁹⁻⁺¹²³]+)?"
_UNIT = rf"/?\s?{_WORD}(?:\s?[/·*.]\s?{_WORD}|\s{_WORD})*"
_CELL = (
    rf"(?P<sign>[<>]=?|=[<>]?|[≤≥])?\s*(?P<currency>[$€£¥])?\s*(?P<number>{_NUMBER})"
    rf"\s*(?P<unit>{_UNIT}|[$€£¥])?"
)
_THOUSANDS = r"[+-]?[1-9]\d{0,2},\d{3}"
_SIDES = {">": 1, "≥": 1, "<": -1, "≤": -1}
STRETCH = 1 << 14
"""Cells that are looked at together, where each can be understood alone."""
_LONGEST = 100
"""Characters of the longest cell that is looked at closely."""


@dataclass(frozen=True, eq=False)
class Quantities:
    """A column of texts as far as they are numbers; row i of everything is cell i."""

    texts: "pd.Series[str]"  # without outer blanks
    values: Float64[np.ndarray, " cell"]  # NaN where a cell is blank, marked or no number
    units: NDArray[Any]  # what stands beside each number, "" for nothing
    sides: Int8[np.ndarray, " cell"]  # 1 where the truth is above the value, -1 below, else 0
    marked: Bool[np.ndarray, " cell"]  # cells with a mark of a missing number
    commas: Bool[np.ndarray, " cell"]  # numbers with a decimal comma
    unclear: Bool[np.ndarray, " cell"]  # such as 1,234, where nothing says what the comma is

    @property
    def bounds(self) -> Bool[np.ndarray, " cell"]:
        """Where only a bound of the value is known."""
        bounds: Bool[np.ndarray, " cell"] = self.sides != 0
        return bounds

    @property
    def known(self) -> Bool[np.ndarray, " cell"]:
        """Where there is a number."""
        known: Bool[np.ndarray, " cell"] = ~np.isnan(self.values)
        return known

    @property
    def unread(self) -> Bool[np.ndarray, " cell"]:
        """Where there is something that is neither a number nor a mark of a missing one."""
        filled = (self.texts != "").to_numpy(bool)
        unread: Bool[np.ndarray, " cell"] = filled & ~self.known & ~self.marked
        return unread

    @property
    def marks(self) -> Counter[str]:
        """The marks of missing values, and how often each occurs."""
        return Counter(self.texts[self.marked].tolist())


def texts_of(cells: "pd.Series[Any]") -> "pd.Series[str]":
    """The cells as texts without outer blanks, empty where there is none.

    Some are looked at at a time, and equal ones among many are one object, as those of classes.
    """
    texts = np.empty(len(cells), object)
    alike: dict[str, str] = {}
    for start in range(0, len(cells), STRETCH):
        some = cells.iloc[start : start + STRETCH]
        found = some.astype(object).where(some.notna(), "").astype(str).str.strip()
        texts[start : start + STRETCH] = [alike.setdefault(text, text) for text in found]
        if len(alike) > STRETCH:
            alike = {}
    return pd.Series(texts, dtype=object)


def is_missing(texts: "pd.Series[str]") -> Bool[np.ndarray, " cell"]:
    """Where a cell has a mark that stands for a missing value whatever the column holds.

    A minus may be a class where there are only signs, such as + and -.
    """
    places, different = pd.factorize(texts)
    words = pd.Series(different, dtype=object).str
    missing = words.lower().isin(MISSING).to_numpy(bool)
    signs = words.fullmatch(_SIGNS_ONLY).to_numpy(bool)
    if not words.fullmatch(r"[-\u2013±/]*\+[-+\u2013±/]*").any():
        missing = missing | signs
    found: Bool[np.ndarray, " cell"] = missing[places]
    return found


def read_quantities(texts: "pd.Series[str]", decimal_comma: bool) -> Quantities:
    """Reads what are numbers; ``decimal_comma`` where commas do not separate columns.

    Elsewhere a comma is a decimal one if one of the column's numbers leaves no other reading, as
    0,5 does and 1,234 does not.
    """
    values = pd.to_numeric(texts, errors="coerce").to_numpy(np.float64, copy=True)
    count = len(texts)
    units = np.full(count, "", dtype=object)
    sides = np.zeros(count, np.int8)
    marked, commas, unclear = (np.zeros(count, bool) for _ in range(3))
    rest = np.flatnonzero(np.isnan(values) & (texts != "").to_numpy(bool))
    if len(rest):
        codes, words = pd.factorize(texts.iloc[rest])  # of classes there are few different ones
        found = _closely(pd.Series(words, dtype=object), decimal_comma)
        values[rest], units[rest] = found.values[codes], found.units[codes]
        sides[rest], marked[rest] = found.sides[codes], found.marked[codes]
        commas[rest], unclear[rest] = found.commas[codes], found.unclear[codes]
    return Quantities(texts, values, units, sides, marked, commas, unclear)


def _side(sign: str) -> int:
    return next((side for mark, side in _SIDES.items() if mark in sign), 0)


def _closely(texts: "pd.Series[str]", decimal_comma: bool) -> Quantities:
    """`read_quantities` of different cells that are neither plain numbers nor blank."""
    plain = texts.str.replace("\u2212", "-").str.replace(r"[\xa0\u202f]", " ", regex=True)
    lower = plain.str.lower()
    marked = lower.isin((*MISSING, *MISSING_NUMBER)) | lower.str.fullmatch(_SIGNS_ONLY)
    plain = plain.where(plain.str.len() <= _LONGEST, "")
    parts = plain.str.extract(f"^{_CELL}$").fillna("")
    numbers = parts["number"]
    comma = numbers.str.contains(",", regex=False).to_numpy(bool)
    grouped = numbers.str.fullmatch(_THOUSANDS).to_numpy(bool)
    unclear = comma & (not decimal_comma and not (comma & ~grouped).any())
    read = pd.to_numeric(numbers.str.replace(",", "."), errors="coerce").to_numpy(np.float64)
    values = np.where(unclear, np.nan, read)
    unit = (parts["currency"] + parts["unit"]).str.replace("\u03bc", "µ")
    return Quantities(
        texts,
        values,
        unit.str.replace(r"\s+", " ", regex=True).to_numpy(object),
        np.where(np.isnan(values), 0, parts["sign"].map(_side).to_numpy(np.int8)),
        marked.to_numpy(bool),
        comma & ~unclear,
        unclear,
    )
