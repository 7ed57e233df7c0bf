"""Predictions of the cells of a mesh, written back onto it."""

from pathlib import Path

import numpy as np
import pandas as pd

from cellformer.basics.files import replace_atomically
from cellformer.data.dataset import GraphSet, Task
from cellformer.drawing.ply import ply_of
from cellformer.drawing.predictions import prediction_colors
from cellformer.training.answers.ensemble import Ensemble

NO_NUMBERS = {"row", "cell", "error"}


def check_cells(task: Task) -> None:
    """Raises ValueError unless the cells of a mesh can have what is predicted."""
    if task.rank is None:
        raise ValueError(
            "this run predicts whole complexes, and a .ply is for what is said of cells; write a "
            ".csv, .tsv or .parquet"
        )


def write_mesh(output: Path, ensemble: Ensemble, source: GraphSet, frame: pd.DataFrame) -> None:
    """Writes the mesh of an opened source with the columns of its table of predictions.

    Classes are numbers, whose labels stand in comments; the first target is what the color says.
    Raises ValueError where the source has more than one mesh, or its mesh no prediction.
    """
    task = ensemble.task
    assert task.rank is not None
    if frame["cell"].isna().any():
        lost = frame[frame["cell"].isna()].iloc[0]
        raise ValueError(f"row {lost['row']} has no predictions to color: {lost['error']}")
    if len(rows := np.unique(frame["row"].to_numpy())) != 1:
        raise ValueError(
            f"{output} can hold one mesh, the source has {len(rows)}; give the file of one"
        )
    cells = ensemble.runs[0].preparation.one(source, int(rows[0]), encoded=False)
    columns = {
        str(name): np.array([task.labels.index(cell) for cell in column], np.float64)
        if task.labels and str(name).startswith("prediction")
        else column.to_numpy(np.float64)
        for name, column in frame.items()
        if name not in NO_NUMBERS
    }
    first = next(column for name, column in columns.items() if name.startswith("prediction"))
    labels = [str(label) for label in task.labels]
    comments = [f"class {number}: {label}" for number, label in enumerate(labels)]
    told = ply_of(cells, task.rank, columns, prediction_colors(first, labels), comments)
    with replace_atomically(output) as unfinished:
        unfinished.write_bytes(told)
