"""The learning curve of a run, a row for each epoch."""

import csv
import math
from collections.abc import Iterable, Mapping
from pathlib import Path


def read_curve(path: Path) -> list[dict[str, float]]:
    """The rows of curve.csv; NaN where one is blank."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {name: float(value) if value else math.nan for name, value in row.items()}
            for row in csv.DictReader(file)
        ]


def seconds_of(curve: Iterable[Mapping[str, int | float]]) -> float:
    """The time of all epochs, those of earlier sessions included, to a tenth of a second."""
    return round(sum(row["seconds"] for row in curve), 1)
