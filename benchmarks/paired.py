"""How much the errors of two runs differ on the same rows, with the standard error of that.

    python -m benchmarks.paired runs/a runs/b

Read from the predictions.csv of each run folder (or from two such files), target by target. The
error of a number is its absolute error, that of a class is 1 where it is wrong. The difference is
the first run's error minus the second's, averaged over the rows that have a true value; its
standard error takes the rows as drawn at random, and says nothing of another seed of training.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

KEYS = ("row", "cell")


@dataclass(frozen=True)
class PairedDifference:
    """Of the errors of two runs for one target."""

    target: str
    """Its name; empty where there is one target only."""
    error: str
    """What is averaged."""
    rows: int
    """With a true value."""
    first: float
    """Mean error of the first run."""
    second: float
    """Mean error of the second run."""
    difference: float
    """The first minus the second."""
    standard_error: float
    """Of the difference, over the rows."""


def main() -> None:
    """Prints a line for each target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=Path, metavar="RUN_A", help="run folder or predictions.csv")
    parser.add_argument("second", type=Path, metavar="RUN_B", help="the one to compare with")
    parser.add_argument("--part", choices=("test", "val"), default="test")
    chosen = parser.parse_args()
    try:
        tables = [read(path, chosen.part) for path in (chosen.first, chosen.second)]
        told = list(differences(*tables))
    except ValueError as error:
        raise SystemExit(f"{chosen.first} and {chosen.second}: {error}") from error
    for found in told:
        of = f"{found.target}: " if found.target else ""
        print(
            f"{of}{found.error} over {found.rows:,} {chosen.part} rows {found.first:.4f} and "
            f"{found.second:.4f}: {found.difference:+.4f} ± {found.standard_error:.4f}"
        )


def read(path: Path, part: str) -> pd.DataFrame:
    """What a run says of a part; raises SystemExit, saying what to do, where it says nothing."""
    file = path / "predictions.csv" if path.is_dir() else path
    if not file.exists():
        raise SystemExit(f"{file} is missing: train the run again, which keeps its predictions")
    table = pd.read_csv(file)
    return table[table["part"] == part]


def differences(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[PairedDifference]:
    """For each target; raises ValueError unless both are of the same rows and targets."""
    keys = [name for name in KEYS if name in first]
    both = first.merge(second, on=keys, suffixes=("", " of b"), validate="one_to_one")
    if not len(first) == len(second) == len(both):
        raise ValueError(
            f"only {len(both)} rows are in both, of {len(first)} and {len(second)}: the runs were "
            "scored on different rows"
        )
    names = [str(name) for name in first]
    for truth in (name for name in names if name.startswith("truth")):
        ending = truth.removeprefix("truth")
        known = both[both[truth].notna()]
        if truth not in second or (known[truth] != known[f"{truth} of b"]).any():
            raise ValueError(f"the values of {truth} are others in the second run")
        guess = f"prediction{ending}"
        classes = any(name.startswith(f"probability{ending}") for name in names)
        errors = [
            (known[truth] != known[name]).astype(float)
            if classes
            else (known[truth] - known[name]).abs()
            for name in (guess, f"{guess} of b")
        ]
        own, other = (np.asarray(each, float) for each in errors)
        yield PairedDifference(
            ending.removeprefix("_"),
            "share of wrong classes" if classes else "absolute error",
            len(known),
            float(own.mean()),
            float(other.mean()),
            float((own - other).mean()),
            float((own - other).std(ddof=1)) / math.sqrt(len(known)),
        )


if __name__ == "__main__":
    main()
