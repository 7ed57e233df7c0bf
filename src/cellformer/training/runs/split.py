"""Which rows train, validate and test, as a table."""

import csv

import numpy as np

from cellformer.basics.files import replace_atomically
from cellformer.data.dataset import PARTS
from cellformer.training.materials.materials import Materials
from cellformer.training.runs.run_folder import RunFolder


def write_split(folder: RunFolder, materials: Materials) -> None:
    """Writes split.csv: a line for every row that is used, counted from 0, with its part.

    Where the cells of the same complexes are split, there is a line for every cell with a target.
    """
    numbers = materials.rows % (len(materials.graphs) // materials.copies)
    lines: list[tuple[int | str, ...]] = []
    for part in PARTS:
        for chosen in materials.split[part].tolist():
            row = int(numbers[chosen])
            if materials.copies == 1:
                lines.append((row, part))
            else:
                known = np.isfinite(materials.complexes.targets_of(np.array([chosen]))).any(axis=1)
                lines += [(row, cell, part) for cell in np.flatnonzero(known).tolist()]
    head = ("row", "part") if materials.copies == 1 else ("row", "cell", "part")
    with (
        replace_atomically(folder.split) as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        csv.writer(file, lineterminator="\n").writerows([head, *sorted(lines)])
