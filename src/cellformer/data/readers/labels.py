"""Labels of the files of a folder, in tables beside them or in the names of folders."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int64
from numpy.typing import NDArray

from cellformer.data.columns import ParsedColumn, Reading, parse_targets
from cellformer.data.dataset import PARTS, Kind, Metric, Task
from cellformer.data.quantities import Censored
from cellformer.data.tables.table import Table, read_table
from cellformer.data.targets import classification_of, encode_targets, make_task

LABELS = "labels.csv"
CELLS = {"vertices": 0, "edges": 1, "faces": 2}
Targets = dict[str, list[str | None]]
"""The cells as written, None where there is none."""
ReadCells = Callable[[Table, int, Sequence[str] | None], Targets]
"""(table, number of the file, names of targets) -> a value per cell of that file."""


@dataclass(frozen=True)
class Labels:
    """What a folder says of its files."""

    columns: Targets  # a value per file, or per cell of all files; none where nothing is said
    split: dict[str, Int64[np.ndarray, " _"]] | None
    rank: int | None  # of the cells that have the labels
    decimal_comma: bool = False  # where commas do not separate the columns of the tables

    def encoded(
        self,
        task: Task | None,
        kind: Kind | None,
        metric: Metric | None,
        where: str,
        censored: Censored = "refuse",
    ) -> tuple[Task | None, Float32[np.ndarray, "row target"] | None]:
        """The task and its targets as numbers; neither where there are no labels, or not all those
        of the task of a trained model.

        Cells are read as those of tables are, see `parse_targets`.
        """
        if censored == "learn":
            raise ValueError(
                f"{where}: bounds are learned of tables of molecules alone; set data.censored to "
                "bound, which takes them for values"
            )
        if not self.columns or (task is not None and not set(task.targets) <= set(self.columns)):
            return None, None
        names = tuple(self.columns) if task is None else task.targets
        parsed = parse_targets(
            {name: pd.Series(self.columns[name], dtype=object) for name in names},
            Reading(where, self.decimal_comma, censored),
            kind if task is None else task.kind,
            None if task is None else {name: task.unit(name) for name in names},
        )
        if task is None:
            task = _task(parsed, kind, metric, self.rank, where)
        return task, encode_targets({name: parsed[name].values for name in names}, task, where)


def files_with(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """The files with one of these suffixes, at most two folders deep, in order."""
    found = [
        file
        for pattern in ("*", "*/*", "*/*/*")
        for file in folder.glob(pattern)
        if file.suffix.lower() in suffixes and file.is_file()
    ]
    return sorted(found)


def read_labels(
    folder: Path,
    files: Sequence[Path],
    target: Sequence[str] | None,
    of_cells: Mapping[str, ReadCells],
) -> Labels:
    """The labels of these files, or of their cells, for which ``of_cells`` has readers.

    Raises ValueError, naming file and line, where labels and files do not fit together.
    """
    tables = {word: [file.with_name(f"{file.stem}.{word}.csv") for file in files] for word in CELLS}
    labeled = [word for word, own in tables.items() if any(t.exists() for t in own)]
    if len(labeled) > 1:
        raise ValueError(f"{folder} has labels of {' and of '.join(labeled)}; leave one kind")
    if labeled:
        (word,) = labeled
        if word not in of_cells:
            raise ValueError(
                f"{folder} has labels of {word}, but these files have {', '.join(of_cells)} only"
            )
        read = [read_table(table) if table.exists() else None for table in tables[word]]
        parts = [
            of_cells[word](table, number, target) if table is not None else None
            for number, table in enumerate(read)
        ]
        commas = any(table is not None and table.dialect.separator != "," for table in read)
        return Labels(_joined(parts, tables[word]), None, CELLS[word], commas)
    if (folder / LABELS).exists():
        table = read_table(folder / LABELS)
        commas = table.dialect.separator != ","
        return Labels(*_from_table(table, folder, files, target), None, commas)
    return Labels(*_from_folders(folder, files), None)


def texts(table: Table, name: str) -> list[str]:
    """The cells of a column, empty where there is none."""
    return table.column(name).fillna("").astype(str).tolist()


def columns_of(table: Table, target: Sequence[str] | None, others: Sequence[str] = ()) -> Targets:
    """The columns of targets: those named, or all but the others."""
    names = target or [name for name in table.header if name not in others]
    if not names:
        raise ValueError(f"{table.where} has no column of labels beside {', '.join(others)}")
    return {name: [cell.strip() or None for cell in texts(table, name)] for name in names}


def counted(word: str, counts: Sequence[int]) -> ReadCells:
    """A reader of tables with one line per cell; ``counts`` has the cells of each file."""

    def read(table: Table, number: int, target: Sequence[str] | None) -> Targets:
        if len(table) != counts[number]:
            alone = len(table.header) == 1 and len(table) < counts[number]
            raise ValueError(
                f"{table.where} has {len(table)} lines of labels for {counts[number]} {word}"
                + ("; an empty line is none: write nan for a missing label" if alone else "")
            )
        return columns_of(table, target)

    return read


def _task(
    parsed: Mapping[str, ParsedColumn],
    kind: Kind | None,
    metric: Metric | None,
    rank: int | None,
    where: str,
) -> Task:
    columns = {name: column.values for name, column in parsed.items()}
    units = [column.unit for column in parsed.values()]
    if all(pd.isna(values).all() for values in columns.values()):
        raise ValueError(f"{where}: every label is blank")
    if kind is None:
        numbers = [values for values in columns.values() if values.dtype == np.float64]
        fractions = any((np.mod(values, 1) > 0).any() for values in numbers)
        kind = "regression" if fractions or any(units) else classification_of(columns, where)
    return replace(make_task(columns, kind, metric, where, units), rank=rank)


def _joined(parts: Sequence[Targets | None], files: Sequence[Path]) -> Targets:
    missing = [file for file, part in zip(files, parts, strict=True) if part is None]
    if missing:
        raise ValueError(f"there is no file {missing[0]}, but other files have labels of cells")
    present = [part for part in parts if part is not None]
    for file, part in zip(files, present, strict=True):
        if part.keys() != present[0].keys():
            raise ValueError(f"{file} has the columns {list(part)}, {files[0]} {list(present[0])}")
    return {name: [v for part in present for v in part[name]] for name in present[0]}


def _from_table(
    table: Table, folder: Path, files: Sequence[Path], target: Sequence[str] | None
) -> tuple[Targets, dict[str, NDArray[np.int64]] | None]:
    names = [Path(cell.strip()).as_posix() for cell in texts(table, "file")]
    wanted = [file.relative_to(folder).as_posix() for file in files]
    twice = {name for name in names if names.count(name) > 1}
    unlike = sorted(set(names) ^ set(wanted)) + sorted(twice)
    if unlike:
        where = "named twice" if unlike[0] in twice else (
            "no such file" if unlike[0] in names else "a file without a line")  # fmt: skip
        raise ValueError(f"{table.where}: {unlike[0]!r} is {where}")
    line = [names.index(name) for name in wanted]
    columns = columns_of(table, target, ("file", "split"))
    ordered = {name: [values[at] for at in line] for name, values in columns.items()}
    if "split" not in table.header:
        return ordered, None
    written = texts(table, "split")
    words = [written[at].strip().lower() for at in line]
    strange = sorted(set(words) - {*PARTS, ""})
    if strange:
        raise ValueError(f"{table.where}: split {strange[0]!r} is none of {', '.join(PARTS)}")
    return ordered, {part: np.flatnonzero(np.array(words) == part) for part in PARTS}


def _from_folders(
    folder: Path, files: Sequence[Path]
) -> tuple[Targets, dict[str, NDArray[np.int64]] | None]:
    """Classes by folder; the test part by folder too, where there is one."""
    parents = [file.relative_to(folder).parts[:-1] for file in files]
    if not any(parents):
        return {}, None
    if not all(parents):
        raise ValueError(f"{folder}: some files lie in a folder of their class, some in none")
    columns: Targets = {"class": [parts[0] for parts in parents]}
    words = [parts[1] if len(parts) > 1 else "" for parts in parents]
    if "test" not in words or not set(words) <= {*PARTS}:
        return columns, None
    train = np.flatnonzero(np.array(words) == "train")
    val = np.flatnonzero(np.array(words) == "val")
    if not len(val):  # ModelNet has none: every tenth file of the training part
        val, train = train[9::10], np.delete(train, np.s_[9::10])
    return columns, {"train": train, "val": val, "test": np.flatnonzero(np.array(words) == "test")}
