"""The result of a training, as ``summary.json`` holds it: read, checked and written here alone."""

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cellformer.basics.decoding import decoded
from cellformer.basics.sealed import FaultError, read_sealed, sha256_of
from cellformer.basics.suggestions import unknown_choice
from cellformer.data.dataset import PARTS
from cellformer.training.runs.curve import read_curve
from cellformer.training.runs.environment import Session
from cellformer.training.runs.run_folder import RunFolder, write_json

VERSION = 2
"""That of the files that are written; those of version 1 have no number."""

CURVE = "curve_sha256"
"""The entry of the file with the checksum of curve.csv as it was then."""

ScoreValue: TypeAlias = float | None
"""None where it is undefined, such as an area under the ROC curve of one class."""
Scores: TypeAlias = Mapping[str, Mapping[str, ScoreValue]]
"""By part of the data (train, val, test) and metric."""
Classes: TypeAlias = Mapping[str, Mapping[str, Mapping[str, int]]]
"""By part of the data, target and label: how many values there are."""


@dataclass(frozen=True)
class LearnedData:
    """The data that a model learned."""

    name: str
    """The name of the source."""
    digest: str
    """A hash of all that was read from it."""


@dataclass(frozen=True)
class Summary:
    """What a training came to, beside one answer for all rows, and where it comes from."""

    version: int = field(default=VERSION, kw_only=True)
    """Of this form of the file."""
    metric: str
    """What chose the best epoch and is told first."""
    best_epoch: int | None
    """The epoch with the best validation score, from 1; None where none had a defined one."""
    epochs: int
    """How many there were."""
    scores: Mapping[str, Scores]
    """Of the "best" and of the "last" weights on the validation and test parts."""
    standard_errors: Mapping[str, Mapping[str, ScoreValue]]
    """Of the metric, because the rows of a part are few; by weights and part."""
    baseline: Scores
    """Of the best answer that is the same for all rows."""
    complexes: Mapping[str, int]
    """How many each part has."""
    classes: Classes
    """How many values of each class every part has; empty for a regression."""
    rows_without_complex: int
    """Rows of the source that could not be used."""
    molecules_in_several_parts: int | None
    """Molecules that parts share; None for a run from before they were counted."""
    rows_left_out: int
    """Rows whose molecules were not to be learned, or were those of earlier rows."""
    labeled: Mapping[str, int]
    """By target, how many rows have a value."""
    parameters: int
    """Weights of the model."""
    data: LearnedData
    """What was learned."""
    seed: int
    """Of weights, order, dropout and random signs."""
    seconds: float
    """Of all epochs, those of earlier sessions included."""
    sessions: tuple[Session, ...]
    """Where and by what program, the first session first."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or not 1 <= (self.best_epoch or 1) <= self.epochs:
            raise ValueError(f"best_epoch {self.best_epoch} is none of {self.epochs} epochs")
        if set(self.scores) != ({"last"} if self.best_epoch is None else {"best", "last"}):
            raise ValueError(f"scores are of {sorted(self.scores)}, best_epoch {self.best_epoch}")
        for name, scores in ({"baseline": self.baseline} | dict(self.scores)).items():
            _check_scores(name, scores, self.metric)
        for name in ("complexes", "labeled"):
            _check_counts(name, getattr(self, name))
        for name, errors in self.standard_errors.items():
            known = {part: error for part, error in errors.items() if error is not None}
            _check_counts(f"standard_errors.{name}", known)
        rest = (
            "rows_without_complex", "molecules_in_several_parts", "rows_left_out", "parameters",
            "seconds",
        )  # fmt: skip
        _check_counts("", {name: getattr(self, name) or 0 for name in rest})
        if not self.sessions:
            raise ValueError("sessions are missing")

    @property
    def reported(self) -> Scores:
        """The scores of the best epoch, or of the last one where no epoch was best."""
        return self.scores.get("best", self.scores["last"])

    @property
    def session(self) -> Session:
        """The last one."""
        return self.sessions[-1]

    def score(self, part: str = "test", weights: str = "best") -> float:
        """The score in the run's metric; NaN where it is undefined or there is none."""
        return defined(self.scores.get(weights, {}).get(part, {}).get(self.metric))

    def standard_error(self, part: str = "test", weights: str = "best") -> float:
        """That of `score`; NaN where it is not known."""
        return defined(self.standard_errors.get(weights, {}).get(part))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Summary":
        """Of a finished run, by its folder; files of earlier versions are read too.

        Raises FileNotFoundError where there is none, ValueError, naming file and field, where it is
        off.
        """
        values, where = _values(path)
        if "members" in values:
            raise ValueError(f"{where} is the summary of several runs, and this takes that of one")
        return decoded(cls, _upgraded(values, where), where)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a run folder; a crash leaves the old file or the new one."""
        folder = RunFolder(Path(path))
        known = {CURVE: sha256_of(folder.curve)} if folder.curve.exists() else {}
        write_json(folder.summary, asdict(self) | known)


@dataclass(frozen=True)
class EnsembleSummary:
    """What the runs of an ensemble or a cross-validation came to, one by one and together."""

    version: int = field(default=VERSION, kw_only=True)
    """Of this form of the file."""
    metric: str
    """What is told first."""
    members: Mapping[str, Scores]
    """Of each run, by the name of its folder: the scores of its best epoch, or else its last."""
    mean: Scores
    """Over the members."""
    deviation: Scores
    """The sample standard deviation over the members."""
    pooled: Scores
    """Of their common answers; empty where each was tested on rows of its own."""
    data: LearnedData
    """What was learned."""
    seconds: float
    """Of all epochs of all members."""
    session: Session
    """The last one of the first member."""

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("members are missing")
        together = {"mean": self.mean, "deviation": self.deviation, "pooled": self.pooled}
        for name, scores in (dict(self.members) | together).items():
            _check_scores(name, scores, self.metric)
        _check_counts("", {"seconds": self.seconds})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "EnsembleSummary":
        """Of a finished folder of runs; raises as `Summary.read` does."""
        values, where = _values(path)
        if "members" not in values:
            raise ValueError(f"{where} is the summary of one run, and this takes that of several")
        return decoded(cls, _upgraded(values, where), where)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes it into the folder of the runs; a crash leaves the old file or the new one."""
        write_json(RunFolder(Path(path)).summary, asdict(self))


def curve_of(path: str | os.PathLike[str]) -> list[dict[str, float]]:
    """The learning curve of a run, finished or not; empty where none was written.

    Raises ValueError, naming the file, where it is damaged, or another one than the run ended with.
    """
    folder = RunFolder(Path(path))
    if not folder.curve.exists():
        return []
    known = None
    if folder.summary.exists():
        told = read_sealed(folder.summary)
        known = told.get(CURVE) if isinstance(told, dict) else None
    if known is not None and known != sha256_of(folder.curve):
        raise FaultError(
            f"{folder.curve} is damaged, or was edited: its checksum differs",
            "restore it from a copy, or delete it; reports and tables go without it",
        )
    return read_curve(folder.curve)


def defined(score: ScoreValue) -> float:
    """A score to compute with: NaN where it is undefined."""
    return math.nan if score is None else score


def undefined_as_none(values: Mapping[str, float]) -> dict[str, ScoreValue]:
    """Scores to keep: None where one is NaN."""
    return {name: None if math.isnan(value) else value for name, value in values.items()}


def _values(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """What the file holds, and its name."""
    folder = RunFolder(Path(path))
    file = folder.require(folder.summary)
    values = read_sealed(file, f"delete it: cellformer train --resume {path} writes it anew")
    if not isinstance(values, dict):
        raise ValueError(f"{file}: a summary is a mapping of fields, got {values!r}")
    values.pop(CURVE, None)
    return values, str(file)


def _upgraded(values: dict[str, Any], where: str) -> dict[str, Any]:
    """The same as version 2 has it: version 1 had no number, and at first fewer fields."""
    if "version" in values:
        if values["version"] != VERSION:
            raise ValueError(
                f"{where}: version {values['version']!r}, this program reads versions up to "
                f"{VERSION}; another one wrote it"
            )
        return values if "members" in values else {"rows_left_out": 0} | values
    now: dict[str, Any] = {"version": VERSION} | values
    if isinstance(data := now.get("data"), dict) and "fingerprint" in data:
        now["data"] = {"digest" if name == "fingerprint" else name: data[name] for name in data}
    origin = {name: now.pop(name, None) for name in ("source", "versions", "machine")}
    if isinstance(origin["machine"], dict):
        origin["machine"] = {"gpus": [], "processes": 1} | origin["machine"]
    if "members" in now:
        return {"pooled": {}, "session": {"began": None} | origin} | now
    if now.get("best_epoch") == 0:
        now["best_epoch"] = None
    first = {"sessions": [{"began": None} | origin], "standard_errors": {}, "classes": {}}
    return first | {"molecules_in_several_parts": None, "rows_left_out": 0} | now


def _check_scores(name: str, scores: Scores, metric: str) -> None:
    for part, values in scores.items():
        if part not in PARTS:
            raise ValueError(f"{name}: {unknown_choice('part', part, PARTS)}")
        if metric not in values:
            raise ValueError(f"{name}.{part} has no {metric}, which is the metric")


def _check_counts(name: str, numbers: Mapping[str, int | float]) -> None:
    for key, number in numbers.items():
        if number < 0:
            raise ValueError(f"{name}{'.' if name else ''}{key} cannot be negative, got {number}")
