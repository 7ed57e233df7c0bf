"""Targets of atoms and bonds: lists in the cells of a table, in the order of the row's molecule."""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Int64

from cellformer.data.columns import Column
from cellformer.data.dataset import Kind, Task
from cellformer.data.quantities import Quantities, read_quantities, texts_of
from cellformer.data.tables.lists import ListEntry, entries_of, holds_lists
from cellformer.data.tables.table import Table
from cellformer.data.targets import word

if TYPE_CHECKING:
    from cellformer.chemistry.listing import Listing

TargetsOf: TypeAlias = Literal["atoms", "bonds"]
WORDS: tuple[TargetsOf, TargetsOf] = ("atoms", "bonds")
RANKS = {word: rank for rank, word in enumerate(WORDS)}
_PROPERTY = re.compile(r"(atom|bond)\.[ibd]?prop\..+")
"""How RDKit names a property of all atoms, or bonds, in an SDF, with blanks between its values."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class AtomTargets:
    """The targets of all atoms, or bonds, of all molecules in their order."""

    rank: int
    offsets: Int64[np.ndarray, " row_plus_1"]
    columns: dict[str, Column]
    faults: dict[int, str]  # why the lists of rows cannot be used; such rows have no cells here


def listing_in(table: Table, smiles: Sequence[str], row: int) -> "Listing":
    """What the atoms and bonds that a row lists are in its graph; raises ValueError if none."""
    from cellformer.chemistry.listing import listing_of  # RDKit is slow to import

    return listing_of(smiles[row], table.records.get(row))


def told_by_names(names: Iterable[str]) -> TargetsOf | None:
    """Whose properties columns of an SDF are, where their names, as RDKit writes them, say so."""
    matches = [_PROPERTY.fullmatch(name) for name in names]
    kinds = {match[1] if match else "" for match in matches}
    if kinds == {"atom"}:
        return "atoms"
    return "bonds" if kinds == {"bond"} else None


def are_lists(cells: "Mapping[str, pd.Series[Any]]", where: str) -> bool:
    """Whether the columns hold lists; raises ValueError where some do and others do not."""
    lists = {name: holds_lists(column) for name, column in cells.items()}
    if len(set(lists.values())) > 1:
        one = next(name for name, own in lists.items() if own)
        other = next(name for name, own in lists.items() if not own)
        raise ValueError(
            f"{where}: column {one!r} has a list in each cell, {other!r} has one value; learn them "
            "in two models"
        )
    return any(lists.values())


def read_atom_targets(
    table: Table,
    smiles: Sequence[str],
    cells: "Mapping[str, pd.Series[Any]]",
    of: TargetsOf | None,
    kind: Kind | None,
    task: Task | None,
) -> AtomTargets:
    """The lists of these columns; without ``of`` their lengths say whether they are of atoms.

    A list has a value for every atom, or bond, that is written, hydrogens included. One of another
    length, or with something else than numbers or known classes, is that row's fault. Raises
    ValueError where the lengths fit atoms and bonds alike, or neither.
    """
    listings: list[Listing | None] = [None] * len(table)
    faults: dict[int, str] = {}
    for row in range(len(table)):
        try:
            listings[row] = listing_in(table, smiles, row)
        except ValueError as error:
            faults[row] = str(error)
    entries = {
        name: [entries_of(cell) for cell in column.tolist()] for name, column in cells.items()
    }
    for name, own in entries.items():
        _refuse_unit(table.where, name, own)
    if task is not None and task.rank is not None:
        rank = task.rank
    else:
        rank = _rank(table.where, entries, listings, of)
    words = {name: _is_of_words(own, kind, task) for name, own in entries.items()}
    for name, own in entries.items():
        for row, values in enumerate(own):
            listing = listings[row]
            if listing is None or values is None or row in faults:
                continue
            wrong = _fault(name, values, listing.of_rank(rank)[0], rank, words[name], task)
            if wrong:
                faults[row] = wrong
    places = {row: listing.of_rank(rank) for row, listing in enumerate(listings)
              if listing is not None and row not in faults}  # fmt: skip
    if task is None and faults and not places:
        row, reason = min(faults.items())
        raise ValueError(
            f"{table.where}: no row has lists of use; row {row} (counted from 0): {reason}"
        )
    counts = [places[row][1] if row in places else 0 for row in range(len(table))]
    offsets = np.cumsum([0, *counts])
    _tell_hydrogens(table.where, rank, entries, places)
    return AtomTargets(
        rank,
        offsets,
        {name: _laid_out(own, places, offsets, words[name]) for name, own in entries.items()},
        faults,
    )


def _refuse_unit(where: str, name: str, own: Sequence[list[ListEntry] | None]) -> None:
    """Raises ValueError where all that is no number is one with the same unit."""
    told = [(row, place, value) for row, values in enumerate(own)
            for place, value in enumerate(values or ()) if isinstance(value, str)]  # fmt: skip
    found = _quantities([value for *_, value in told])
    if told and found.known.all() and not found.bounds.any() and len(set(found.units)) == 1:
        row, place, value = told[0]
        raise ValueError(
            f"{where}, column {name!r}: value {place} of row {row} (both counted from 0) is "
            f"{value!r}, but lists take no units; write the numbers alone"
        )


def _quantities(words: Sequence[str]) -> Quantities:
    return read_quantities(texts_of(pd.Series(words, dtype=object)), True)


def _rank(
    where: str,
    entries: Mapping[str, Sequence[list[ListEntry] | None]],
    listings: Sequence["Listing | None"],
    of: TargetsOf | None,
) -> int:
    """The rank that the lengths of most lists fit, or the one that is said if any fits it."""
    told = WORDS if of is None else (of,)
    found: dict[str, int] = {}
    for name, own in entries.items():
        fits: Counter[int] = Counter()
        lists, example = 0, ""
        for row, (values, listing) in enumerate(zip(own, listings, strict=True)):
            if values is None or listing is None:
                continue
            lists += 1
            sizes = (len(listing.vertices), len(listing.edges))
            fitting = [RANKS[word] for word in told if len(values) == sizes[RANKS[word]]]
            fits.update(fitting)
            if not fitting and not example:
                example = (
                    f"row {row} (counted from 0) has {len(values)} for {sizes[0]} atoms and "
                    f"{sizes[1]} bonds, with the hydrogens that are written"
                )
        if 2 * max(fits.values(), default=0) < max(lists, 1):
            few = f"only in {max(fits.values())} of {lists} rows a" if fits else "no"
            raise ValueError(
                f"{where}: {few} list of column {name!r} has as many values as its molecule has "
                f"{' or '.join(told)}: "
                f"{example or 'no row has a list and a molecule'}"
            )
        if fits[0] == fits[1]:
            raise ValueError(
                f"{where}: the lists of column {name!r} fit atoms as well as bonds; set "
                "data.targets_of to atoms or bonds"
            )
        found[name] = 0 if fits[0] > fits[1] else 1
    if len(set(found.values())) > 1:
        each = ", ".join(f"{name!r} of {WORDS[rank]}" for name, rank in found.items())
        raise ValueError(f"{where}: targets are of atoms and of bonds ({each}); learn one kind")
    return next(iter(found.values()))


def _is_of_words(
    own: Sequence[list[ListEntry] | None], kind: Kind | None, task: Task | None
) -> bool:
    """Whether what is listed are words, by most of the values where nothing else says so."""
    if (kind if task is None else task.kind) == "regression":
        return False
    if task is not None:
        return isinstance(task.labels[0], str)
    kinds = Counter(type(value) for values in own for value in values or ())
    if kind is not None:
        return kinds[str] > 0
    return kinds[str] > kinds[float]


def _fault(
    name: str,
    values: Sequence[ListEntry],
    listed: Int64[np.ndarray, " listed"],
    rank: int,
    words: bool,
    task: Task | None,
) -> str:
    """Why a list cannot be used; empty where it can."""
    if len(values) != len(listed):
        hydrogens = ", with the hydrogens that are written" if (listed < 0).any() else ""
        return (
            f"column {name!r} has a list of {len(values)} values for {len(listed)} "
            f"{WORDS[rank]}{hydrogens}"
        )
    for place, value in enumerate(values):
        if value is None:
            continue
        where = f"column {name!r}, value {place} (counted from 0) of the list is {value!r}"
        if not words and (isinstance(value, str) or not np.isfinite(np.float32(value))):
            bound = isinstance(value, str) and _quantities([value]).bounds.any()
            return f"{where}, not a finite number{'; leave a bound blank' if bound else ''}"
        if task is not None and task.labels and _label(value, words) not in task.labels:
            return f"{where}, no class that the model knows"
    return ""


def _label(value: ListEntry, words: bool) -> ListEntry:
    return word(value) if words and value is not None else value


def _laid_out(
    own: Sequence[list[ListEntry] | None],
    places: Mapping[int, tuple[Int64[np.ndarray, " listed"], int]],
    offsets: Int64[np.ndarray, " row_plus_1"],
    words: bool,
) -> Column:
    """The values where their atoms or bonds are."""
    laid: Column = (
        np.full(offsets[-1], None, object) if words else np.full(offsets[-1], np.nan, np.float64)
    )
    for row, (place, _) in places.items():
        values = own[row]
        if values is None:
            continue
        told = [_label(value, words) for value in values]
        inside = place >= 0
        row_values = np.array(told, object)[inside]
        laid[offsets[row] + place[inside]] = row_values if words else row_values.astype(np.float64)
    return laid


def _tell_hydrogens(
    where: str,
    rank: int,
    entries: Mapping[str, Sequence[list[ListEntry] | None]],
    places: Mapping[int, tuple[Int64[np.ndarray, " listed"], int]],
) -> None:
    lost = sum(
        values[place] is not None
        for own in entries.values()
        for row, (listed, _) in places.items()
        if (values := own[row]) is not None
        for place in np.flatnonzero(listed < 0).tolist()
    )
    if lost:
        logger.info(
            "%s: %d values of %shydrogens are left out, which are no atoms of the graphs",
            where,
            lost,
            "bonds to " if rank else "",
        )
