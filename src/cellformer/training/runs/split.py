"""Which rows train, validate and test, as a table."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int64

from cellformer.basics.files import replace_atomically
from cellformer.complexes.many.ragged import stretches
from cellformer.data.dataset import PARTS
from cellformer.training.materials.materials import Materials
from cellformer.training.runs.run_folder import RunFolder

IN_ORDER = sorted(PARTS)  # as lines of one row are sorted


def write_split(folder: RunFolder, materials: Materials) -> None:
    """Writes split.csv: a line for every row that is used, counted from 0, with its part.

    Where the cells of the same complexes are split, there is a line for every cell with a target.
    """
    head = ("row", "cell", "part") if materials.cells_split else ("row", "part")
    numbers = np.concatenate([_numbers(materials, part) for part in PARTS])
    numbers = numbers[np.lexsort(numbers.T[::-1])]
    new = np.ones(len(numbers), bool)
    new[1:] = (numbers[1:] != numbers[:-1]).any(axis=1)
    with (
        replace_atomically(folder.split) as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        file.write(",".join(head) + "\n")
        for some in stretches(np.flatnonzero(new)):
            file.writelines(_lines(numbers[some]))


def _numbers(materials: Materials, part: str) -> Int64[np.ndarray, "line number"]:
    """What the lines of a part tell; the last number is that of the part in `IN_ORDER`."""
    chosen = materials.split[part]
    rows = [materials.rows[chosen]]
    if materials.cells_split:
        rank = materials.task.rank
        assert rank is not None
        known = np.isfinite(materials.complexes.targets_of(chosen)).any(axis=1)
        of, cells, _ = materials.cells_of(chosen, rank)
        rows = [of[known], cells[known]]
    return np.stack([*rows, np.full(len(rows[0]), IN_ORDER.index(part))], axis=1)


def _lines(numbers: Int64[np.ndarray, "line number"]) -> Iterator[str]:
    for *places, part in numbers.tolist():
        yield ",".join([*map(str, places), IN_ORDER[part]]) + "\n"
