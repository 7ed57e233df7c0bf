"""Complexes colored by what is predicted for their cells."""

from typing import get_args

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.special import expit, softmax

from cellformer.complexes.batches.batch import collate
from cellformer.complexes.cell_complex import CellComplex
from cellformer.data.dataset import Task
from cellformer.drawing.predictions import Panel, draw_predictions
from cellformer.drawing.theme import LIGHT, Theme
from cellformer.model.evaluation import evaluating
from cellformer.training.answers.trained_run import TrainedRun

MOST_LINES = 3_000
"""Cells of a complex that is drawn by lines and areas on a page."""


def picture_of_cells(
    task: Task,
    cells: CellComplex,
    outputs: Float[np.ndarray, "cell output"],
    truth: Float[np.ndarray, "cell target"] | None,
    target: int = 0,
    positions: ArrayLike | None = None,
    title: str = "",
    size: float = 4.0,
    theme: Theme = LIGHT,
    panel: Panel | None = None,
) -> Figure:
    """One target of a complex by truth, prediction and error, in the words of the task.

    The error of a class is the probability that was not given to the true one, as in the report's
    tables. ``panel`` names the only one to draw. Raises ValueError unless the task is one of cells,
    and where there is no such target.
    """
    if task.rank is None:
        raise ValueError("this run predicts whole complexes, no cells that could be colored")
    if not 0 <= target < len(task.targets):
        raise ValueError(f"there is no target {target}; the targets are {', '.join(task.targets)}")
    true = None if truth is None else truth[:, target].astype(np.float64)
    title = title or (task.targets[target] if len(task.targets) > 1 else "")
    if task.kind == "regression":
        values = outputs[:, target].astype(np.float64)
        return draw_predictions(cells, task.rank, values, true, positions=positions, title=title,
                                size=size, theme=theme, panel=panel)  # fmt: skip
    shares = shares_of(task, outputs, target)
    errors = None if true is None else class_errors(shares, true)
    return draw_predictions(cells, task.rank, shares.argmax(axis=1).astype(np.float64), true,
                            errors, [str(label) for label in task.labels], positions, title, size,
                            theme, panel)  # fmt: skip


def panels_of_cells(
    task: Task,
    cells: CellComplex,
    outputs: Float[np.ndarray, "cell output"],
    truth: Float[np.ndarray, "cell target"] | None,
    target: int = 0,
    positions: ArrayLike | None = None,
    theme: Theme = LIGHT,
) -> dict[str, Figure]:
    """The panels of `picture_of_cells`, a picture each, for pages that may be narrow."""
    known = truth is not None and bool(np.isfinite(truth[:, target]).any())
    words = get_args(Panel) if known else ("predicted",)
    return {
        word: picture_of_cells(task, cells, outputs, truth, target, positions, theme=theme,
                               panel=word)
        for word in words
    }  # fmt: skip


def with_pixels(figure: Figure, cells: CellComplex) -> Figure:
    """The same; of a large complex, whose lines would fill the page's file, as pixels."""
    if sum(cells.num_cells) > MOST_LINES:
        figure.set_dpi(200)
        for ax in figure.axes:
            for collection in ax.collections:
                collection.set_rasterized(True)
    return figure


def outputs_for(run: TrainedRun, cells: CellComplex) -> Float[np.ndarray, "row output"]:
    """What a run says of one complex, or of its cells: values in the user's units, or logits."""
    with evaluating(run.predictor), torch.no_grad():
        told = run.predictor(collate([cells]))
    return np.asarray(told.double().numpy())


def shares_of(
    task: Task, outputs: Float[np.ndarray, "row output"], target: int
) -> Float[np.ndarray, "row class"]:
    """The probabilities of all classes of one target."""
    if task.kind == "multiclass":
        return np.asarray(softmax(outputs.astype(np.float64), axis=1))
    second = expit(outputs[:, target].astype(np.float64))
    return np.stack([1 - second, second], axis=1)


def class_errors(
    shares: Float[np.ndarray, "row class"], true: Float[np.ndarray, " row"]
) -> Float[np.ndarray, " row"]:
    """The probability that was not given to the true class; NaN where that is unknown."""
    given = np.take_along_axis(shares, np.nan_to_num(true).astype(int)[:, None], axis=1)[:, 0]
    return np.where(np.isfinite(true), 1 - given, np.nan)
