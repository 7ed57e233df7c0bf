"""What the weights of a run say of the rows that they were scored on, row by row."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from cellformer.basics.files import replace_atomically
from cellformer.data.dataset import Task
from cellformer.data.tables.writing import write_delimited
from cellformer.training.answers.predict import columns_of
from cellformer.training.materials.materials import Materials


def predictions_of(
    materials: Materials, outputs: Mapping[str, Float[np.ndarray, "_ output"]]
) -> pd.DataFrame:
    """A line for every row, or cell, that has a true value: row, part, truth and prediction.

    ``outputs`` are values in the user's units, or logits, for each part.
    """
    return pd.concat([_of_part(materials, *each) for each in outputs.items()])


def write_predictions(path: Path, tables: Sequence[pd.DataFrame]) -> None:
    """Writes predictions.csv; numbers read back the same."""
    rows = pd.concat(tables)
    digits = 17 if (rows.dtypes == np.float64).any() else 9
    with replace_atomically(path) as unfinished:
        write_delimited(rows, unfinished, float_format=f"%.{digits}g")


def _of_part(
    materials: Materials, part: str, outputs: Float[np.ndarray, "answer output"]
) -> pd.DataFrame:
    task, complexes, chosen = materials.task, materials.complexes, materials.split[part]
    columns: dict[str, object] = {"row": materials.rows[chosen]}
    if task.rank is not None:
        rows, cells, _ = materials.cells_of(chosen, task.rank)  # only what counts has a target
        columns = {"row": rows, "cell": cells}
    truth = complexes.targets_of(chosen)
    columns["part"] = [part] * len(truth)
    for number, target in enumerate(task.targets):
        name = f"truth_{target}" if len(task.targets) > 1 else "truth"
        columns[name] = as_told(task, truth[:, number])
    columns |= columns_of(task, outputs[None])
    known: pd.DataFrame = pd.DataFrame(columns).loc[np.isfinite(truth).any(axis=1)]
    return known if materials.patches is None else known.sort_values(["row", "cell"])


def as_told(task: Task, values: Float[np.ndarray, " answer"]) -> Any:
    """Numbers as they are, classes by their labels; blank where unknown."""
    if not task.labels:
        return values
    return [None if np.isnan(value) else task.labels[int(value)] for value in values]
