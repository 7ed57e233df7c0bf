"""``runs.csv``: every run of a grid with its settings and its result, a row for each.

From this table alone all others can be made again, so it is enough to keep it.
"""

import csv
import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cellformer.basics.decoding import decoded
from cellformer.basics.files import replace_atomically
from cellformer.experiments.grid.run_result import Finished, RunResult
from cellformer.experiments.presets import flatten
from cellformer.training.config import RunConfig

TABLES = "tables"
"""The folder of the tables within a results folder."""
RUNS = "runs.csv"
"""In the folder of the tables."""
ABOUT = ("run", "status", "dataset", "attention", "encoding", "seed")
RESULT = tuple(field.name for field in dataclasses.fields(Finished))
REST = ("training_seconds", "curve", "error")


def write_runs(path: Path, results: Sequence[RunResult]) -> None:
    """Writes a row for each run, whether it finished or not; blank is what is not there."""
    settings = [name for name in flatten(RunConfig()) if name not in ABOUT]
    write_csv(path, [_row(run) for run in results], (*ABOUT, *RESULT, *REST, *settings))


def read_runs(path: Path) -> tuple[RunResult, ...]:
    """The runs of such a table; raises ValueError, naming file and row, where it is off."""
    with path.open(newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        missing = [n for n in (*ABOUT, *RESULT, *REST) if n not in (table.fieldnames or ())]
        if missing:
            raise ValueError(
                f"{path}: the column {missing[0]} is missing; another version wrote it"
            )
        return tuple(_result(row, f"{path}, row {number}") for number, row in enumerate(table))


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> None:
    """A table with a header; floats are written so that they read back the same, NaN as blank."""
    with (
        replace_atomically(path) as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _blank(value) for name, value in row.items()})


def _row(run: RunResult) -> dict[str, str]:
    each = run.experiment
    about = (run.name, run.status, each.dataset, each.attention, each.encoding, each.seed)
    told: dict[str, Any] = dict(zip(ABOUT, about, strict=True))
    told |= {} if run.result is None else asdict(run.result)
    told |= {"training_seconds": run.training_seconds, "error": run.error}
    row = {name: _cell(value) for name, value in told.items() if value is not None}
    row["curve"] = " ".join("-" if score is None else repr(score) for score in run.curve)
    return row | {name: _cell(value) for name, value in flatten(run.config).items()}


def _result(row: Mapping[str, str], where: str) -> RunResult:
    result = None
    if row["status"] == "finished":
        result = decoded(Finished, {name: _value(row[name]) for name in RESULT}, where)
    settings: dict[str, Any] = {"attention": row["attention"]}
    for name in row:
        if name not in (*ABOUT, *RESULT, *REST):
            *sections, last = name.split(".")
            inner = settings
            for section in sections:
                inner = inner.setdefault(section, {})
            inner[last] = _value(row[name])
    return RunResult(
        row["run"],
        RunConfig.from_values(settings, where),
        result,
        _value(row["error"]),
        _value(row["training_seconds"]),
        tuple(None if score == "-" else float(score) for score in row["curve"].split()),
    )


def _cell(value: Any) -> str:
    """Text as it is, everything else as JSON, and text that looks like JSON as JSON too."""
    return value if isinstance(value, str) and _value(value) == value else json.dumps(value)


def _value(cell: str) -> Any:
    """The inverse; None where it is blank."""
    if not cell:
        return None
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def _blank(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return value.replace("\r", " ")  # csv leaves it bare, where it would end the row
    return repr(value) if isinstance(value, float) else value
