"""The files of a run, and writing them so that a crash leaves the old or the new one."""

import csv
import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cellformer.basics.files import check_writable, replace_atomically
from cellformer.basics.sealed import read_sealed, sealed
from cellformer.basics.suggestions import did_you_mean
from cellformer.data.dataset import PARTS
from cellformer.data.splitting.molecule_keys import Leak
from cellformer.training.config import RunConfig
from cellformer.training.runs.shipped import run_path, shipped_names


@dataclass(frozen=True)
class RunFolder:
    """A folder that is enough to predict, to evaluate and to go on training."""

    path: Path

    @classmethod
    def named(cls, path: Path) -> "RunFolder":
        """A folder to read, or by its name that of a model that comes with the package."""
        return cls(run_path(path))

    @classmethod
    def around(cls, path: Path) -> "RunFolder":
        """That of a path to a run folder, or to a file in one, or `named`."""
        return cls(path.parent) if path.is_file() else cls.named(path)

    @property
    def config(self) -> Path:
        """The full configuration."""
        return self.path / "config.json"

    @property
    def preparation(self) -> Path:
        """How its complexes were made, and those of new rows are."""
        return self.path / "preparation.json"

    @property
    def model(self) -> Path:
        """What else is needed to build the model: shapes, task, scaling."""
        return self.path / "model.json"

    @property
    def curve(self) -> Path:
        """One row per epoch."""
        return self.path / "curve.csv"

    @property
    def start(self) -> Path:
        """The weights of another run that this one begins with, if it does."""
        return self.path / "start.safetensors"

    @property
    def resume(self) -> Path:
        """The state of training after the last finished epoch, or where it was asked to stop."""
        return self.path / "resume.ckpt"

    @property
    def resume_before(self) -> Path:
        """The state that was kept before that one, to go on from where that one is damaged."""
        return self.path / "resume-before.ckpt"

    @property
    def summary(self) -> Path:
        """The result and where it comes from."""
        return self.path / "summary.json"

    @property
    def sessions(self) -> Path:
        """When, where and by what program it was trained; one entry for each interruption more."""
        return self.path / "sessions.json"

    @property
    def predictions(self) -> Path:
        """What the best weights say of the validation and test rows, beside what is true."""
        return self.path / "predictions.csv"

    @property
    def report(self) -> Path:
        """The run to look at, in a browser."""
        return self.path / "report.html"

    @property
    def failures(self) -> Path:
        """The rows of the data that could not be used, with reasons."""
        return self.path / "failures.csv"

    @property
    def members(self) -> Path:
        """The runs that answer together, where this folder is an ensemble."""
        return self.path / "ensemble.json"

    @property
    def residuals(self) -> Path:
        """The errors on the validation part, which calibrate intervals."""
        return self.path / "residuals.json"

    @property
    def leakage(self) -> Path:
        """The molecules that are in several parts of the split."""
        return self.path / "leakage.csv"

    @property
    def split(self) -> Path:
        """The part of every row that is used."""
        return self.path / "split.csv"

    @property
    def states(self) -> tuple[Path, ...]:
        """The states of training that are there, the newest first."""
        return tuple(path for path in (self.resume, self.resume_before) if path.exists())

    def weights(self, which: str) -> Path:
        """The weights after the ``best`` or the ``last`` epoch."""
        return self.path / f"{which}.safetensors"

    def claim(self) -> None:
        """Makes the folder for a new run; raises FileExistsError if a run is already there."""
        self.refuse_taken()
        self.path.mkdir(parents=True, exist_ok=True)

    def refuse_taken(self) -> None:
        """Raises FileExistsError if a run is already there, OSError where none can be written."""
        if self.config.exists():
            raise FileExistsError(
                f"{self.path} holds a run already; go on with it by --resume {self.path}, or "
                "choose another folder with -o"
            )
        check_writable(self.path)

    def write_config(self, config: RunConfig) -> None:
        """Writes config.json, with all defaults."""
        write_json(self.config, dataclasses.asdict(config))

    def write_failures(self, failures: Sequence[tuple[int, str]]) -> None:
        """Writes failures.csv, if there are any."""
        if failures:
            with (
                replace_atomically(self.failures) as unfinished,
                unfinished.open("w", newline="", encoding="utf-8") as file,
            ):
                csv.writer(file).writerows([("row", "reason"), *failures])

    def write_leaks(self, leaks: Sequence[Leak]) -> None:
        """Writes leakage.csv, if there are any: a molecule per line, its rows in each part."""
        if leaks:
            with (
                replace_atomically(self.leakage) as unfinished,
                unfinished.open("w", newline="", encoding="utf-8") as file,
            ):
                lines = (
                    [" ".join(map(str, leak.rows.get(p, ()))) for p in PARTS] for leak in leaks
                )
                csv.writer(file).writerows([[f"{part}_rows" for part in PARTS], *lines])

    def require(self, file: Path) -> Path:
        """The file, if it is there; otherwise raises FileNotFoundError."""
        if file.exists():
            return file
        if self.members.exists():
            first = min(self.path.glob("*/config.json"), default=self.config).parent
            raise FileNotFoundError(
                f"{self.path} holds several models, and this takes one: name the folder of one, "
                f"such as {first}"
            )
        if self.summary.exists():
            raise FileNotFoundError(f"{self.path} {self._lacks(file)}")
        what = "is not a run folder" if not self.config.exists() else "is not finished"
        near = "" if self.path.exists() else did_you_mean(self.path, shipped_names())
        raise FileNotFoundError(f"{self.path} {what}: {file.name} is missing{near}")

    def _lacks(self, file: Path) -> str:
        """Why a finished run has not this file, and what to do."""
        if file != self.weights("best"):
            others = "" if file != self.model else ", unless it is a baseline, which cannot predict"
            return f"lacks {file.name}; restore it from a copy{others}"
        if read_sealed(self.summary).get("best_epoch") is None:
            return (
                "has no best epoch, because the validation score was undefined in all of them; "
                "take the weights of the last one (--weights last)"
            )
        return (
            f"lacks {file.name}; restore it from a copy, or take the weights of the last epoch "
            "(--weights last)"
        )


def write_json(path: Path, values: Mapping[str, object]) -> None:
    """Writes JSON with its checksum, atomically; a number that is not finite becomes null."""
    told = sealed({name: _finite(value) for name, value in values.items()})
    with replace_atomically(path) as unfinished:
        unfinished.write_text(json.dumps(told, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _finite(values: object) -> object:
    if isinstance(values, dict):
        return {name: _finite(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_finite(value) for value in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values
