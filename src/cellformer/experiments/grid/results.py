"""What a folder of runs has to tell: results, failures, and what is not finished."""

import json
import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cellformer.experiments.grid.grid import Experiment
from cellformer.training.config import RunConfig
from cellformer.training.runs.run_folder import RunFolder, write_json

FAILURE = "failure.json"
"""In the folder of a run that failed: the reason, and what was to be run."""


@dataclass(frozen=True, eq=False)
class RunResult:
    """One run folder of a grid."""

    name: str
    """Its folder, relative to the results folder."""
    config: RunConfig
    summary: dict[str, Any] | None
    """None where it has not finished."""
    error: str | None
    """Why it failed, where it did."""

    @property
    def experiment(self) -> Experiment:
        """Its place in the grid, by its own configuration."""
        return Experiment.of(self.config)

    def score(self, part: str, which: str = "best") -> float:
        """The score in the run's metric; NaN where there is none, or it is undefined."""
        found = (self.summary or {}).get("scores", {}).get(which, {}).get(part)
        value = None if found is None or self.summary is None else found[self.summary["metric"]]
        return math.nan if value is None else float(value)

    @property
    def standard_error(self) -> float:
        """Of the test score, because the test rows are few; NaN where it is not known."""
        errors = (self.summary or {}).get("standard_errors", {}).get("best", {})
        value = errors.get("test")
        return math.nan if value is None else float(value)


def read_results(folder: Path) -> tuple[RunResult, ...]:
    """All runs below a results folder, by their own files alone, in the order of their names.

    Raises FileNotFoundError if there is no such folder, ValueError, naming the file, where one in
    it is damaged.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no results folder: it does not exist")
    found = []
    for path in sorted(folder.glob("*/*/*/seed-*")):
        run, failure = RunFolder(path), path / FAILURE
        told: dict[str, Any] = {}
        if failure.exists():
            told = json.loads(failure.read_text(encoding="utf-8"))
        if run.config.exists():
            config = _parsed(run.config.read_text(encoding="utf-8"), str(run.config))
        elif told:
            config = RunConfig.from_values(told["config"], str(failure))
        else:
            continue
        summary = run.read_summary() if run.summary.exists() else None
        error = None if summary is not None else told.get("error")
        found.append(RunResult(path.relative_to(folder).as_posix(), config, summary, error))
    return tuple(found)


@lru_cache(maxsize=10_000)
def _parsed(text: str, where: str) -> RunConfig:
    """A configuration; parsing takes long, and tables are made again after every training."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{where}: cannot be read as a configuration ({error})") from error
    return RunConfig.from_values(values, where)


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
    return str(json.loads(path.read_text(encoding="utf-8"))["error"])
