"""From a table with SMILES to a set of molecules, their targets and their split."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32
from numpy.typing import NDArray

from cellformer.basics.rounding import narrowed
from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.data.columns import ParsedColumn, Reading, parse_descriptor, parse_targets
from cellformer.data.dataset import (
    PARTS,
    GraphSet,
    Kind,
    Metric,
    MoleculeDescriptors,
    SmilesList,
    Task,
)
from cellformer.data.quantities import Censored
from cellformer.data.tables.atom_targets import (
    WORDS,
    AtomTargets,
    TargetsOf,
    are_lists,
    read_atom_targets,
    told_by_names,
)
from cellformer.data.tables.table import Table, arrow_column
from cellformer.data.targets import Columns, classification_of, encode_targets, make_task
from cellformer.data.texts import trimmed

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
    censored: Censored = "refuse",
    column_units: Sequence[str] | None = None,
    targets_of: str | None = None,
) -> GraphSet:
    """The table's molecules with the chosen columns as targets, none chosen: without targets.

    A column of numbers is a regression unless it has two different whole numbers; a column of
    words, or of two numbers, is a classification (``kind`` overrules this). Numbers may have one
    unit throughout, and ``censored`` says what values such as >5 are. ``task`` is that of a
    trained model, whose targets are read if all are there. Beside targets, a column "split" (or
    the one named) with the words train, val (valid, validation) and test is the split. Rows with a
    bad SMILES stay in place: asking for their graph raises ValueError with the reason. ``features``
    are those of atoms and bonds.

    Where cells hold lists, their values are targets of the atoms, or of the bonds, see
    `read_atom_targets`; ``targets_of`` says which where both fit. A row whose list is of no use
    cannot be used.

    The ``columns`` named are descriptors of the molecules, beside those that ``descriptors`` says
    to compute: numbers, NaN where a cell is blank. A row with anything else in such a column
    cannot be used, see `GraphSet.faults`. ``column_units`` are the units in which a model has
    learned them. Raises ValueError where the table lacks such a column.
    """
    reading = Reading(table.where, table.dialect.separator != ",", censored)
    smiles = SmilesList(smiles_of(table, smiles_column), features, descriptors)
    cells = _target_cells(table, target, task)
    values, units, faults = _descriptor_columns(table, columns, tuple(cells), reading, column_units)
    listed = _listed(table, smiles, cells, kind, task, targets_of)
    parsed = (
        _parsed(cells, reading, kind, task)
        if listed is None
        else {name: ParsedColumn(column) for name, column in listed.columns.items()}
    )
    targets_by_name = {name: column.values for name, column in parsed.items()}
    if listed is not None:
        if censored != "refuse":
            raise ValueError(
                f"{table.where}: data.censored is of no use to values in lists; leave it out, and "
                "bounds blank"
            )
        faults = {**listed.faults, **faults}
    if task is None and targets_by_name:
        chosen = kind or _kind(parsed, table)
        told = [column.unit for column in parsed.values()]
        task = make_task(targets_by_name, chosen, metric, table.where, told)
        task = replace(task, rank=None if listed is None else listed.rank)
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
        None if listed is None else listed.offsets,
        columns=values,
        faults={**faults, **table.faults},
        column_units=units,
        bounds=_bounds(list(parsed.values())),
    )


def _bounds(parsed: Sequence[ParsedColumn]) -> Float[np.ndarray, "row side"] | None:
    """The bounds below the targets, a column for each, then those above; None without any."""
    if all(column.bounds is None for column in parsed):
        return None
    none = np.full((len(parsed[0].values), 2), np.nan)
    sides = np.stack([none if each.bounds is None else each.bounds for each in parsed], axis=2)
    return narrowed(sides.reshape(len(none), -1))


def smiles_of(table: Table, column: str | None = None) -> Sequence[str]:
    """The SMILES of every row, empty where there is none."""
    name = table.smiles_column(column)
    cells = table.column(name)
    known = arrow_column(cells)
    if known is not None:
        return trimmed(known)
    texts = cells.astype(object).where(cells.notna(), "")
    kind = pd.api.types.infer_dtype(texts)
    if kind not in ("string", "empty"):
        raise ValueError(f"{table.where}: column {name!r} does not hold SMILES strings ({kind})")
    return tuple(texts.str.strip().tolist())


def _target_cells(
    table: Table, target: Sequence[str] | None, task: Task | None
) -> "dict[str, pd.Series[Any]]":
    """The columns to learn, as they are written."""
    names = tuple(target or ())
    if task is not None and not names and all(name in table.header for name in task.targets):
        names = task.targets
    if len(set(names)) != len(names):
        raise ValueError(f"{table.where}: a target is named twice: {', '.join(names)}")
    return {name: table.column(name) for name in names}


def _parsed(
    cells: "dict[str, pd.Series[Any]]", reading: Reading, kind: Kind | None, task: Task | None
) -> dict[str, ParsedColumn]:
    if task is None:
        return parse_targets(cells, reading, kind)
    units = {name: task.unit(name) for name in cells if name in task.targets}
    return parse_targets(cells, reading, task.kind, units)


def _listed(
    table: Table,
    smiles: SmilesList,
    cells: "dict[str, pd.Series[Any]]",
    kind: Kind | None,
    task: Task | None,
    of: str | None,
) -> AtomTargets | None:
    """The targets of atoms or bonds; None where the molecules have them, or nothing has.

    Raises ValueError where that is not what a trained model predicts.
    """
    said = _said(of, table.where)
    if not cells:
        return None
    if task is not None:
        if task.rank is None:
            return None
        if task.rank >= len(WORDS):
            raise ValueError(
                f"{table.where} has targets of molecules, or of their atoms or bonds, but those of "
                f"this model belong to the cells of rank {task.rank}"
            )
        said = WORDS[task.rank]
    else:
        said = said or told_by_names(cells)
    if said is None and not are_lists(cells, table.where):
        return None
    if smiles.scheme == "zinc":
        raise ValueError(
            f"{table.where}: the features of ZINC-12k put atoms into another order, so no lists of "
            "values are read for them; set data.features to standard"
        )
    return read_atom_targets(table, smiles.smiles, cells, said, kind, task)


def _said(of: str | None, where: str) -> TargetsOf | None:
    """Whose the lists of a table are said to be; raises ValueError for what they cannot be of."""
    known = next((word for word in WORDS if word == of), None)
    if of is not None and known is None:
        raise ValueError(
            f"{where}: the lists of a table are of {' or '.join(WORDS)}, so data.targets_of cannot "
            f"be {of}"
        )
    return known


def _descriptor_columns(
    table: Table,
    names: Sequence[str],
    targets: Sequence[str],
    reading: Reading,
    learned: Sequence[str] | None,
) -> tuple[Float32[np.ndarray, "row column"] | None, tuple[str, ...], dict[int, str]]:
    """The columns as numbers, their units, and why rows with something else cannot be used."""
    if not names:
        return None, (), {}
    for number, name in enumerate(names):
        if name in names[:number] or name in targets:
            other = "a target" if name in targets else "named twice"
            raise ValueError(f"{table.where}: the descriptor {name!r} is {other}")
    faults: dict[int, str] = {}
    units = []
    values = np.zeros((len(table), len(names)), np.float32)
    for number, name in enumerate(names):
        unit = learned[number] if learned else None
        numbers, told, bad = parse_descriptor(name, table.column(name), reading, unit)
        with np.errstate(over="ignore"):
            values[:, number] = numbers
        units.append(told)
        faults = {**bad, **faults}
    return values, tuple(units), faults


def _kind(parsed: dict[str, ParsedColumn], table: Table) -> Kind:
    """Numbers with a unit are a regression, however few different ones there are."""
    where = table.where
    columns: Columns = {name: column.values for name, column in parsed.items()}
    for name, column in parsed.items():
        if pd.isna(column.values).all():
            raise ValueError(
                f"{where}: column {name!r} is blank in every row; choose another column"
                if len(table)
                else f"{where} has no rows below the names of its columns"
            )
    if any(column.values.dtype != np.float64 for column in parsed.values()):
        return classification_of(columns, where)
    if any(column.unit for column in parsed.values()):
        return "regression"
    known = [np.unique(column.values[~np.isnan(column.values)]) for column in parsed.values()]
    two = all(len(values) <= 2 for values in known)
    everything = np.unique(np.concatenate(known)).tolist() if two else []
    if two and (len(everything) == 2 or set(everything) <= {0, 1}):
        return "binary" if all(map(float.is_integer, everything)) else "regression"
    return "regression"


def _split(table: Table, column: str | None) -> dict[str, NDArray[np.int64]] | None:
    named = [name for name in table.header if name.strip().lower() == "split"]
    if column is None and not named:
        return None
    name = column or named[0]
    codes, found = pd.factorize(table.column(name).fillna("").astype(str))
    words = [word.strip().lower() for word in found]
    known = {**_PART_OF, "": ""}
    strange = np.array([word not in known for word in words], bool)[codes]
    if strange.any():
        row = int(strange.argmax())
        raise ValueError(
            f"{table.where}: column {name!r}, row {row} (counted from 0) is {words[codes[row]]!r}; "
            "expected train, val or test, or a blank for a row that is in none"
        )
    own = np.array([known[word] for word in words], np.str_)
    return {part: np.flatnonzero(np.isin(codes, np.flatnonzero(own == part))) for part in PARTS}
