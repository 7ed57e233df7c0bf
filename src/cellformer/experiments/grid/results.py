"""What a folder of runs has to tell: results, failures, and what is not finished."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cellformer.basics.sealed import FaultError, read_sealed
from cellformer.experiments.grid.run_result import Finished, RunResult
from cellformer.experiments.grid.runs_table import RUNS, TABLES, read_runs
from cellformer.training.config import RunConfig
from cellformer.training.runs.curve import seconds_of
from cellformer.training.runs.run_folder import RunFolder, write_json
from cellformer.training.runs.summary import Summary, curve_of, undefined_as_none

FAILURE = "failure.json"
"""In the folder of a run that failed: the reason, and what was to be run."""


def read_results(folder: Path) -> tuple[RunResult, ...]:
    """All runs below a results folder, by their own files alone, in the order of their names.

    Where there are no runs, but the tables of some, they are those of runs.csv. Raises
    FileNotFoundError if there is no such folder, ValueError, naming the file, where one in it is
    damaged.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no results folder: it does not exist")
    found = []
    for path in sorted(folder.glob("*/*/*/seed-*")):
        run, failure = RunFolder(path), path / FAILURE
        told: dict[str, Any] = {}
        if failure.exists():
            told = _failure(failure)
        if run.config.exists():
            config = RunConfig.from_json(run.config)
        elif told:
            config = RunConfig.from_values(told.get("config"), str(failure))
        else:
            continue
        name, error = path.relative_to(folder).as_posix(), told.get("error")
        found.append(_result(name, run, config, error))
    table = folder / TABLES / RUNS
    return read_runs(table) if not found and table.exists() else tuple(found)


def _result(name: str, run: RunFolder, config: RunConfig, error: str | None) -> RunResult:
    curve = curve_of(run.path)
    seconds = seconds_of(curve) if curve else None
    if not run.summary.exists():
        return RunResult(name, config, None, error, seconds, ())
    result = Finished.of(Summary.read(run.path))
    scores = undefined_as_none(
        {str(epoch): row.get(f"val_{result.metric}", math.nan) for epoch, row in enumerate(curve)}
    )
    return RunResult(name, config, result, None, seconds, tuple(scores.values()))


def note_failure(folder: Path, config: RunConfig, error: str | None) -> None:
    """Keeps the reason in the folder of a run, which may hold nothing else; None removes it."""
    path = folder / FAILURE
    if error is None:
        path.unlink(missing_ok=True)
    else:
        write_json(path, {"error": error, "config": asdict(config)})


def read_failure(folder: Path) -> str | None:
    """The reason why the run of this folder failed; None where it did not."""
    path = folder / FAILURE
    if not path.exists():
        return None
    return str(_failure(path)["error"])


def _failure(path: Path) -> dict[str, Any]:
    cure = "delete it, and the run is tried again"
    told = read_sealed(path, cure)
    if not isinstance(told, dict) or not isinstance(told.get("error"), str):
        raise FaultError(f"{path} does not say why the run failed", cure)
    return told
