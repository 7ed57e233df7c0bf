"""From a table with SMILES to a set of molecules, their targets and their split."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float32
from numpy.typing import NDArray

from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.data.dataset import (
    PARTS,
    GraphSet,
    Kind,
    Metric,
    MoleculeDescriptors,
    SmilesList,
    Task,
)
from cellformer.data.tables.table import Table
from cellformer.data.targets import (
    Column,
    classification_of,
    encode_targets,
    make_task,
    parse_column,
    parse_numbers,
)

MOST_GUESSED = 10
"""Of this many classes none needs to be named as a classification, however few the rows."""
_BEGINS_WITH_NUMBER = r"[<>=~\u2264\u2265\u00b1\s]*[+-]?[.,]?\d+(?:[.,]\d+)*"

_PART_OF = {"train": "train", "training": "train", "val": "val", "valid": "val",
            "validation": "val", "test": "test"}  # fmt: skip


def molecules(
    table: Table,
    target: Sequence[str] | None = None,
    smiles_column: str | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    task: Task | None = None,
    split_column: str | None = None,
    features: MoleculeScheme = "standard",
    columns: Sequence[str] = (),
    descriptors: MoleculeDescriptors = "none",
) -> GraphSet:
    """The table's molecules with the chosen columns as targets, none chosen: without targets.

    A column of numbers is a regression unless it has two different whole numbers; a column of
    words, or of two numbers, is a classification (``kind`` overrules this). ``task`` is that of a
    trained model, whose targets are read if all are there. Beside targets, a column "split" (or
    the one named) with the words train, val (valid, validation) and test is the split. Rows with a
    bad SMILES stay in place: asking for their graph raises ValueError with the reason. ``features``
    are those of atoms and bonds.

    The ``columns`` named are descriptors of the molecules, beside those that ``descriptors`` says
    to compute: numbers, NaN where a cell is blank. A row with anything else in such a column
    cannot be used, see `GraphSet.faults`. Raises ValueError where the table lacks such a column.
    """
    smiles = SmilesList(smiles_of(table, smiles_column), features, descriptors)
    targets_by_name = _target_columns(table, target, task)
    values, faults = _descriptor_columns(table, columns, tuple(targets_by_name))
    if targets_by_name and task is not None and task.rank is not None:
        raise ValueError(
            f"{table.where} has one value per row, but the targets of this model belong to the "
            f"cells of rank {task.rank}"
        )
    if task is None and targets_by_name:
        chosen = kind or _kind(targets_by_name, table)
        task = make_task(targets_by_name, chosen, metric, table.where)
    targets = (
        encode_targets(targets_by_name, task, table.where)
        if targets_by_name and task is not None
        else np.zeros((len(table), 0), np.float32)
    )
    return GraphSet(
        table.name,
        smiles,
        targets,
        task if targets_by_name else None,
        _split(table, split_column) if targets_by_name else None,
        smiles.digest(),
        columns=values,
        faults=faults,
    )


def smiles_of(table: Table, column: str | None = None) -> tuple[str, ...]:
    """The SMILES of every row, empty where there is none."""
    name = table.smiles_column(column)
    cells = table.column(name)
    texts = cells.astype(object).where(cells.notna(), "")
    kind = pd.api.types.infer_dtype(texts)
    if kind not in ("string", "empty"):
        raise ValueError(f"{table.where}: column {name!r} does not hold SMILES strings ({kind})")
    return tuple(texts.str.strip().tolist())


def _target_columns(
    table: Table, target: Sequence[str] | None, task: Task | None
) -> dict[str, Column]:
    names = tuple(target or ())
    if task is not None and not names and all(name in table.header for name in task.targets):
        names = task.targets
    if len(set(names)) != len(names):
        raise ValueError(f"{table.where}: a target is named twice: {', '.join(names)}")
    decimal_comma = table.dialect.separator != ","
    return {name: parse_column(table.column(name), decimal_comma) for name in names}


def _descriptor_columns(
    table: Table, names: Sequence[str], targets: Sequence[str]
) -> tuple[Float32[np.ndarray, "row column"] | None, dict[int, str]]:
    """The columns as numbers, and why rows with something else in them cannot be used."""
    if not names:
        return None, {}
    for number, name in enumerate(names):
        if name in names[:number] or name in targets:
            other = "a target" if name in targets else "named twice"
            raise ValueError(f"{table.where}: the descriptor {name!r} is {other}")
    faults: dict[int, str] = {}
    values = np.zeros((len(table), len(names)), np.float32)
    for number, name in enumerate(names):
        cells = parse_column(table.column(name), table.dialect.separator != ",")
        known = cells
        if cells.dtype != np.float64:
            known = parse_numbers(pd.Series(cells), table.dialect.separator != ",")
        with np.errstate(over="ignore"):
            values[:, number] = known
        bad = ~np.isfinite(values[:, number]) & ~pd.isna(cells)
        for row in np.flatnonzero(bad).tolist():
            faults.setdefault(row, f"column {name!r} is {cells[row]!r}, not a finite number")
        if bad.sum() > (~pd.isna(cells)).sum() / 2:
            row = int(bad.argmax())
            raise ValueError(
                f"{table.where}: the descriptor {name!r} is no column of numbers: row {row} "
                f"(counted from 0) is {cells[row]!r}"
            )
    return values, faults


def _kind(columns: dict[str, Column], table: Table) -> Kind:
    where = table.where
    for name, values in columns.items():
        if values.dtype != np.float64:
            _check_words(name, values, table)
    for name, values in columns.items():
        if pd.isna(values).all():
            raise ValueError(f"{where}: column {name!r} is blank in every row")
    if any(values.dtype != np.float64 for values in columns.values()):
        return classification_of(columns)
    known = [values[~np.isnan(values)] for values in columns.values()]
    everything = np.unique(np.concatenate(known)).tolist()
    two = all(len(np.unique(values)) <= 2 for values in known)
    if two and (len(everything) == 2 or set(everything) <= {0, 1}):
        return "binary" if all(map(float.is_integer, everything)) else "regression"
    return "regression"


def _check_words(name: str, values: Column, table: Table) -> None:
    """Raises ValueError unless a column that holds words is one of classes beyond doubt.

    It is not where most cells are numbers, where most begin with one (a unit or a sign beside it),
    and where there are nearly as many different ones as rows.
    """
    known = np.flatnonzero(~pd.isna(values))
    texts = pd.Series(values[known], dtype=object).astype(str)
    words = np.isnan(parse_numbers(texts, table.dialect.separator != ","))
    column = f"{table.where}: column {name!r}"
    else_classes = "or set data.kind to multiclass if the column names classes"

    def told(chosen: NDArray[np.bool_]) -> str:
        row = int(known[int(chosen.argmax())])
        return f"row {row} (counted from 0) is {values[row]!r}"

    if words.sum() < len(texts) / 2:
        raise ValueError(
            f"{column} holds numbers but {told(words)}; correct it, leave it blank, {else_classes}"
        )
    begun = texts.str.match(_BEGINS_WITH_NUMBER).to_numpy(bool)
    if begun.sum() > len(texts) / 2:
        raise ValueError(
            f"{column} holds numbers with something beside them: {told(begun & words)}; write "
            f"plain numbers in one unit, {else_classes}"
        )
    different = texts.nunique()
    if different > MOST_GUESSED and different > len(texts) / 2:
        raise ValueError(
            f"{column} has {different} different words in {len(texts)} rows, which is hardly a "
            f"classification: {told(words)}; choose another column, {else_classes}"
        )


def _split(table: Table, column: str | None) -> dict[str, NDArray[np.int64]] | None:
    named = [name for name in table.header if name.strip().lower() == "split"]
    if column is None and not named:
        return None
    name = column or named[0]
    words = table.column(name).fillna("").astype(str).str.strip().str.lower()
    parts = words.map({**_PART_OF, "": ""})
    if parts.isna().any():
        row = int(parts.isna().to_numpy().argmax())
        raise ValueError(
            f"{table.where}: column {name!r}, row {row} (counted from 0) is {words.iloc[row]!r}; "
            "expected train, val or test, or a blank for a row that is in none"
        )
    chosen = parts.to_numpy(dtype=np.str_)
    return {part: np.flatnonzero(chosen == part) for part in PARTS}
