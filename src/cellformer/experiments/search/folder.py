"""The trials of a search on disk, in text files, from which it goes on after any interruption."""

import csv
import dataclasses
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from cellformer.basics.decoding import decoded
from cellformer.basics.files import replace_atomically
from cellformer.basics.sealed import FaultError, read_sealed
from cellformer.experiments.search.space import SearchSpace
from cellformer.training.config import RunConfig
from cellformer.training.runs.run_folder import write_json

State = Literal["running", "finished", "stopped", "failed"]


@dataclass(frozen=True)
class Trial:
    """One training of a search."""

    number: int
    values: dict[str, Any]
    """The searched fields."""
    state: State = "running"
    """Stopped: given up early, as others were better after as many epochs."""
    score: float | None = None
    """The best validation score."""
    epochs: int = 0
    """Epochs that it has been trained for."""
    error: str | None = None
    """Why it failed."""


@dataclass(frozen=True)
class _Outcome:
    """All of a trial but its values, which may be of any type."""

    number: int
    state: State
    score: float | None
    epochs: int
    error: str | None


@dataclass(frozen=True)
class SearchFolder:
    """A search: ``search.json``, a run folder per trial, ``trials.csv`` and ``best.yaml``."""

    path: Path

    @property
    def best(self) -> Path:
        """The best configuration, as a file for ``cellformer train --config``."""
        return self.path / "best.yaml"

    @property
    def table(self) -> Path:
        """All trials."""
        return self.path / "trials.csv"

    def run(self, number: int) -> Path:
        """The run folder of a trial."""
        return self.path / "trials" / f"{number:04d}"

    def open(self, base: RunConfig, space: SearchSpace) -> None:
        """Begins the search, or checks that it is this one that has been begun.

        Raises ValueError where the folder holds another search.
        """
        told = json.loads(json.dumps({"base": asdict(base), "space": asdict(space)}))
        file = self.path / "search.json"
        if not file.exists():
            write_json(file, told)
        elif read_sealed(file) != told:
            raise ValueError(
                f"{self.path} holds a search over other fields or from another configuration; "
                "choose another folder with -o, or move that one away"
            )

    def write(self, trial: Trial) -> None:
        """Keeps what is known of a trial."""
        write_json(self.run(trial.number) / "trial.json", asdict(trial))

    def trials(self) -> list[Trial]:
        """All that have been begun, by number; raises ValueError for a file that is damaged."""
        found = []
        for file in sorted(self.path.glob("trials/*/trial.json")):
            values = read_sealed(file, "remove its folder")
            try:
                found.append(_trial(values, str(file)))
            except ValueError as error:
                raise FaultError(str(error), "remove its folder") from None
        return found

    def write_table(self, trials: list[Trial]) -> None:
        """Writes trials.csv, a line per trial."""
        fixed = [item.name for item in dataclasses.fields(Trial) if item.name != "values"]
        searched = list(trials[0].values) if trials else []
        with (
            replace_atomically(self.table) as unfinished,
            unfinished.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.writer(file)
            writer.writerow([*fixed, *searched])
            for trial in trials:
                writer.writerow(
                    [getattr(trial, name) for name in fixed]
                    + [trial.values[name] for name in searched]
                )

    def write_best(self, config: RunConfig) -> None:
        """Writes best.yaml."""
        values = json.loads(json.dumps(asdict(config)))
        with replace_atomically(self.best) as unfinished:
            unfinished.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def _trial(told: object, where: str) -> Trial:
    """A trial as its file holds it; raises ValueError where a field is off."""
    if not isinstance(told, dict) or not isinstance(values := told.pop("values", None), dict):
        raise ValueError(f"{where}: values must be a mapping of fields")
    return Trial(values=values, **asdict(decoded(_Outcome, told, where)))


def best_of(trials: list[Trial], higher: bool) -> Trial | None:
    """The trial with the best score, the first of equals."""
    scored = [trial for trial in trials if trial.score is not None]
    sign = -1 if higher else 1
    return min(scored, key=lambda t: (sign * (t.score or 0.0), t.number), default=None)


def described(values: dict[str, Any]) -> str:
    """The values on one line."""
    return ", ".join(
        f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}"
        for key, value in values.items()
    )
