"""Predictions for atoms or bonds, as lists in the rows of a table of molecules."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cellformer.data.tables.atom_targets import listing_in
from cellformer.data.tables.table import Table


def listed_by_row(
    table: Table,
    smiles: Sequence[str],
    cells: pd.DataFrame,
    columns: Mapping[str, Sequence[Any] | np.ndarray],
    rank: int,
) -> dict[str, list[Any]]:
    """The columns of all cells (see `cell_rows`) with one list per row of the table.

    A list has the order of the atoms, or bonds, as they are written, and None for those that are no
    cells; a row without a prediction has None, and its reason in ``error``.
    """
    numbers = cells["row"].to_numpy(np.int64)
    starts = np.searchsorted(numbers, np.arange(len(table) + 1))
    errors = columns["error"]
    reasons = [str(errors[start]) for start in starts[:-1].tolist()]
    places: list[list[int] | None] = []
    for row, reason in enumerate(reasons):
        found = None
        if not reason:
            try:
                found = listing_in(table, smiles, row).of_rank(rank)[0].tolist()
            except ValueError as error:  # a molecule without an order of its atoms
                reasons[row] = str(error)
        places.append(found)
    listed: dict[str, list[Any]] = {}
    for name, values in columns.items():
        if name == "error":
            continue
        told = _plain(values)
        listed[name] = [
            None if own is None else [None if cell < 0 else told[start + cell] for cell in own]
            for own, start in zip(places, starts.tolist(), strict=False)
        ]
    return {**listed, "error": reasons}


def _plain(values: Sequence[Any] | np.ndarray) -> list[Any]:
    """Python's own values; numbers with the digits that they have."""
    if isinstance(values, np.ndarray):
        return [None if np.isnan(value) else float(str(value)) for value in values]
    return list(values)
