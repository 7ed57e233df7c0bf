"""Where every number of the tables comes from, and copying the small files that say so."""

import csv
import hashlib
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cellformer.basics.files import replace_atomically
from cellformer.experiments.grid.results import FAILURE, RunResult
from cellformer.training.runs.run_folder import RunFolder

RUN_FILES = ("config.json", "summary.json", "curve.csv", "sessions.json", FAILURE)
"""What is copied of a run: small text files, from which the tables can be made again."""
TABLES = "tables"
"""The folder of the tables within a results folder."""


def write_runs(path: Path, folder: Path, results: Sequence[RunResult]) -> None:
    """Writes runs.csv: one row for each run of a results folder, whether it finished or not."""
    rows = [_row(folder, run) for run in results]
    write_csv(path, rows, _row_fields())


def write_csv(path: Path, rows: Sequence[dict[str, Any]], fields: Sequence[str]) -> None:
    """A table with a header; floats are written so that they read back the same, NaN as blank."""
    with (
        replace_atomically(path) as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _blank(value) for name, value in row.items()})


def collect(folder: Path, target: Path, results: Sequence[RunResult]) -> int:
    """Copies tables and the text files of all runs, without weights; returns how many files.

    The copy has the same layout, so that the tables can be made again from it alone.
    """
    if target.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{target} lies within {folder}; choose a folder outside of it")
    chosen = [folder / run.name / name for run in results for name in RUN_FILES]
    chosen += sorted((folder / TABLES).glob("*"))
    copied = 0
    for source in chosen:
        place = target / source.relative_to(folder)
        if source.is_file() and not source.name.startswith("."):
            with replace_atomically(place) as unfinished:
                shutil.copyfile(source, unfinished)
            copied += 1
        elif not source.exists():
            place.unlink(missing_ok=True)  # of an earlier copy
    return copied


def _row_fields() -> tuple[str, ...]:
    return (
        "run", "status", "dataset", "attention", "encoding", "seed", "metric", "test",
        "validation", "test_last", "test_standard_error", "test_complexes", "best_epoch", "epochs",
        "epochs_configured", "parameters", "data_name", "data_hash", "commit", "dirty", "versions",
        "platform", "processor", "threads", "gpus", "sessions", "began", "training_seconds",
        "config", "config_sha256", "curve", "error",
    )  # fmt: skip


def _row(folder: Path, run: RunResult) -> dict[str, Any]:
    each, files = run.experiment, RunFolder(folder / run.name)
    status = "finished" if run.summary else "failed" if run.error else "unfinished"
    row: dict[str, Any] = {
        "run": run.name,
        "status": status,
        "dataset": each.dataset,
        "attention": each.attention,
        "encoding": each.encoding,
        "seed": each.seed,
        "epochs_configured": run.config.training.epochs,
        "error": run.error,
    }
    if files.config.exists():
        row["config"] = f"{run.name}/{files.config.name}"
        row["config_sha256"] = hashlib.sha256(files.config.read_bytes()).hexdigest()
    if files.curve.exists():
        row["curve"] = f"{run.name}/{files.curve.name}"
        row["training_seconds"] = round(_seconds(files.curve), 1)
    told = run.summary
    if told is None:
        return row
    source, machine = told.get("source") or {}, told["machine"]
    sessions = told.get("sessions", [])
    return row | {
        "metric": told["metric"],
        "test": run.score("test"),
        "validation": run.score("val"),
        "test_last": run.score("test", "last"),
        "test_standard_error": run.standard_error,
        "test_complexes": told["complexes"]["test"],
        "best_epoch": told["best_epoch"],
        "epochs": told["epochs"],
        "parameters": told["parameters"],
        "data_name": told["data"]["name"],
        "data_hash": told["data"]["fingerprint"],
        "commit": source.get("commit"),
        "dirty": source.get("dirty"),
        "versions": " ".join(f"{name}={value}" for name, value in told["versions"].items()),
        "platform": machine["platform"],
        "processor": machine["processor"],
        "threads": machine["threads"],
        "gpus": " ".join(machine.get("gpus", [])),
        "sessions": len(sessions) or None,
        "began": sessions[0]["began"] if sessions else None,
    }


def _seconds(curve: Path) -> float:
    """Of all epochs, those of earlier sessions included."""
    with curve.open(newline="", encoding="utf-8") as file:
        return sum(float(row["seconds"]) for row in csv.DictReader(file))


def _blank(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(value) if isinstance(value, float) else value
