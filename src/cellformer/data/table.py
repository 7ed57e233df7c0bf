"""Molecules in a table: a CSV file with a SMILES column and any other columns."""

import csv
import difflib
import gzip
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cellformer.data.dataset import PARTS, GraphSet, Kind, Metric, SmilesList, Task
from cellformer.data.files import replace_atomically
from cellformer.data.targets import (
    Columns,
    Value,
    classification_of,
    encode_targets,
    make_task,
)

SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "mol_smiles", "mol", "molecule",
                "structure", "smi")  # fmt: skip
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})
_PART_OF = {"train": "train", "training": "train", "val": "val", "valid": "val",
            "validation": "val", "test": "test"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of a table as they were written; row i is the i-th line of data, from 0."""

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> tuple[str, ...]:
        """One column; raises ValueError, with the nearest name, if there is none."""
        if name not in self.header:
            near = difflib.get_close_matches(name.lower(), [n.lower() for n in self.header], 1)
            guess = next((n for n in self.header if near and n.lower() == near[0]), None)
            hint = f"did you mean {guess!r}? " if guess else ""
            raise ValueError(
                f"{self.path} has no column {name!r}; {hint}its columns are "
                f"{', '.join(map(repr, self.header))}"
            )
        place = self.header.index(name)
        return tuple(row[place] for row in self.rows)

    def smiles_column(self, name: str | None = None) -> str:
        """The name of the SMILES column, as given or by the usual names in any case."""
        if name is not None:
            self.column(name)
            return name
        by_name = {column.strip().lower(): column for column in reversed(self.header)}
        for usual in SMILES_NAMES:
            if usual in by_name:
                return by_name[usual]
        raise ValueError(
            f"{self.path} has no column named like {', '.join(SMILES_NAMES[:3])}; say which of its "
            f"columns holds the SMILES: {', '.join(map(repr, self.header))}"
        )

    def write(
        self, path: str | os.PathLike[str], added: Mapping[str, Sequence[str]], overwrite: bool
    ) -> None:
        """Writes all rows in their order with further columns, whole or not at all.

        Raises FileExistsError unless ``overwrite``, ValueError if a column exists already.
        """
        file = Path(path)
        if file.exists() and not overwrite:
            raise FileExistsError(f"{file} exists; choose another name or allow overwriting it")
        for name, cells in added.items():
            if name in self.header:
                raise ValueError(f"{self.path} already has a column {name!r}")
            if len(cells) != len(self):
                raise ValueError(f"column {name!r} has {len(cells)} cells for {len(self)} rows")
        with replace_atomically(file) as unfinished:
            opener = gzip.open if file.suffix == ".gz" else open
            with opener(unfinished, "wt", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow([*self.header, *added])
                extra = zip(*added.values(), strict=True) if added else [()] * len(self)
                writer.writerows([*row, *more] for row, more in zip(self.rows, extra, strict=True))


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a path has the name of a table."""
    return os.fspath(path).endswith((".csv", ".csv.gz"))


def read_table(path: str | os.PathLike[str]) -> Table:
    """Reads a CSV file in UTF-8, with or without byte-order mark, plain or gzipped.

    Cells are kept as they are written; blank lines are left out. Raises FileNotFoundError, and
    ValueError, naming the line, if the file is not a table.
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"there is no file {file}")
    try:
        lines = list(_lines(file))
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 text ({error}); save it as UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file} cannot be read: {error}") from None
    if not lines:
        raise ValueError(f"{file} is empty; a line with the names of the columns is needed")
    header = tuple(lines[0][1])
    twice = {name for name in header if header.count(name) > 1}
    if twice:
        raise ValueError(f"{file} has two columns named {sorted(twice)[0]!r}; rename one")
    for number, cells in lines[1:]:
        if len(cells) != len(header):
            raise ValueError(
                f"{file}, line {number}: {len(cells)} cells where the header names {len(header)} "
                "columns; a cell that contains a comma must stand in double quotes"
            )
    return Table(file, header, tuple(tuple(cells) for _, cells in lines[1:]))


def molecules(
    table: Table,
    target: Sequence[str] | None = None,
    smiles_column: str | None = None,
    kind: Kind | None = None,
    metric: Metric | None = None,
    task: Task | None = None,
) -> GraphSet:
    """The table's molecules with the chosen columns as targets, none chosen: without targets.

    A column of numbers is a regression unless it has two different whole numbers; a column of
    words, or of two numbers, is a classification (``kind`` overrules this). ``task`` is that of a
    trained model, whose targets are read if all are there. Beside targets, a column "split" with
    the words train, val (valid, validation) and test is the split. Rows with a bad SMILES stay in
    place: asking for their graph raises ValueError with the reason.
    """
    smiles = SmilesList(tuple(cell.strip() for cell in table.column(
        table.smiles_column(smiles_column))))  # fmt: skip
    columns = _target_columns(table, target, task)
    if task is None and columns:
        chosen = kind or _kind(columns, str(table.path))
        task = make_task(columns, chosen, metric, str(table.path))
    targets = (
        encode_targets(columns, task, str(table.path))
        if columns and task is not None
        else np.zeros((len(table), 0), np.float32)
    )
    return GraphSet(
        _stem(table.path),
        smiles,
        targets,
        task if columns else None,
        _split(table) if columns else None,
        smiles.fingerprint(),
    )


def _lines(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that is not blank, with its number in the file, from 1."""
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, cells
        except csv.Error as error:
            raise ValueError(f"{file}, line {reader.line_num}: {error}") from None


def _target_columns(table: Table, target: Sequence[str] | None, task: Task | None) -> Columns:
    names = tuple(target or ())
    if task is not None and not names and all(name in table.header for name in task.targets):
        names = task.targets
    if len(set(names)) != len(names):
        raise ValueError(f"{table.path}: a target is named twice: {', '.join(names)}")
    return {name: [_value(cell) for cell in table.column(name)] for name in names}


def _value(cell: str) -> Value:
    text = cell.strip()
    if text.lower() in MISSING:
        return None
    if "_" in text:
        return text  # Python reads 1_000 as a number, tables do not
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _kind(columns: Columns, where: str) -> Kind:
    for name, values in columns.items():
        words = [value for value in values if isinstance(value, str)]
        numbers = [value for value in values if isinstance(value, int | float)]
        if not words and not numbers:
            raise ValueError(f"{where}: column {name!r} is blank in every row")
        if len(numbers) > len(words) > 0:
            raise ValueError(
                f"{where}: column {name!r} holds numbers but row {list(values).index(words[0])} "
                f"(counted from 0) is {words[0]!r}; correct it, leave it blank, or choose "
                "kind='multiclass' if the column names classes"
            )
    everything = {value for values in columns.values() for value in values if value is not None}
    if any(isinstance(value, str) for value in everything):
        return classification_of(columns)
    whole = all(float(value).is_integer() for value in everything)
    two = all(len(set(values) - {None}) <= 2 for values in columns.values())
    return (
        "binary"
        if whole and two and (len(everything) == 2 or everything <= {0, 1})
        else ("regression")
    )


def _split(table: Table) -> dict[str, NDArray[np.int64]] | None:
    named = [name for name in table.header if name.strip().lower() == "split"]
    if not named:
        return None
    words = [cell.strip().lower() for cell in table.column(named[0])]
    for row, word in enumerate(words):
        if word and word not in _PART_OF:
            raise ValueError(
                f"{table.path}: column {named[0]!r}, row {row} (counted from 0) is {word!r}; "
                "expected train, val or test, or a blank for a row that is in none"
            )
    parts = np.asarray([_PART_OF.get(word, "") for word in words], dtype=np.str_)
    return {part: np.flatnonzero(parts == part) for part in PARTS}


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".csv")
