"""Copying the small files that say where every number of the tables comes from."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from cellformer.basics.files import replace_atomically
from cellformer.experiments.grid.results import FAILURE
from cellformer.experiments.grid.run_result import RunResult
from cellformer.experiments.grid.runs_table import TABLES

RUN_FILES = (
    "config.json", "summary.json", "curve.csv", "sessions.json", "predictions.csv", FAILURE,
)  # fmt: skip
"""What is copied of a run: small text files, from which the tables can be made again."""


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
