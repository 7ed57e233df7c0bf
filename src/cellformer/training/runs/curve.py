"""The learning curve of a run, a row for each epoch."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

JOINT = "_joint"
"""Behind the name of a validation score of cells and kernels together; without, of cells alone."""

CURE = "restore it from a copy"


@dataclass(frozen=True)
class Course:
    """How a training went: the rows of its curve, and its best epoch, from 1, if one was."""

    curve: Sequence[Mapping[str, int | float]]
    best_epoch: int | None


def read_curve(path: Path) -> list[dict[str, float]]:
    """The rows of curve.csv; NaN where one is blank.

    Raises ValueError, naming file and line, for anything but a number under each name.
    """
    with path.open(newline="", encoding="utf-8") as file:
        try:
            lines = list(csv.reader(file))
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is damaged: it is no table ({error}); {CURE}") from None
    if lines and "epoch" not in lines[0]:
        raise ValueError(f"{path} is damaged: it has no column epoch; {CURE}")
    return [_row(path, number, lines[0], line) for number, line in enumerate(lines[1:], 2)]


def seconds_of(curve: Iterable[Mapping[str, int | float]]) -> float:
    """The time of all epochs, those of earlier sessions included, to a tenth of a second."""
    return round(sum(row.get("seconds", math.nan) for row in curve), 1)


def _row(path: Path, number: int, names: list[str], line: list[str]) -> dict[str, float]:
    if len(line) != len(names):
        raise ValueError(
            f"{path} is damaged: line {number} has {len(line)} cells for {len(names)} names; {CURE}"
        )
    try:
        values = [float(cell) if cell else math.nan for cell in line]
    except ValueError as error:
        raise ValueError(f"{path} is damaged: line {number}: {error}; {CURE}") from None
    return dict(zip(names, values, strict=True))
