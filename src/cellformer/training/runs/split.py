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
    lines: list[tuple[int | str, ...]] = []
    for part in PARTS:
        for chosen in materials.split[part].tolist():
            if materials.cells_split:
                one, rank = np.array([chosen]), materials.task.rank
                assert rank is not None
                known = np.isfinite(materials.complexes.targets_of(one)).any(axis=1)
                rows, cells, _ = materials.cells_of(one, rank)
                told = zip(rows[known].tolist(), cells[known].tolist(), strict=True)
                lines += [(row, cell, part) for row, cell in told]
            else:
                lines.append((int(materials.rows[chosen]), part))
    head = ("row", "cell", "part") if materials.cells_split else ("row", "part")
    with (
        replace_atomically(folder.split) as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        csv.writer(file, lineterminator="\n").writerows([head, *sorted(set(lines))])
