"""Whether errors are as large as a model says that they may be."""

import numpy as np
from jaxtyping import Float

from cellformer.data.dataset import Task
from cellformer.drawing.inline import inline_svg
from cellformer.model.dropping import drops
from cellformer.report import charts
from cellformer.report.outcome import RunOutcome
from cellformer.report.parts import MOST_CHARTED, Chart
from cellformer.training.answers.deviations import values_of
from cellformer.training.answers.ensemble import Ensemble, pooled, uncertainty
from cellformer.training.answers.trained_run import TrainedRun

SAMPLES = 10
"""Answers with dropout of each row."""
MOST_SAMPLED = 1_000
"""Complexes that are answered for so often."""
ROUNDING = 1e-5
"""Of the typical error."""


def doubts(
    target: str,
    errors: Float[np.ndarray, " row"],
    deviations: Float[np.ndarray, " row"],
    whose: str = "learned deviation",
) -> list[Chart]:
    """The errors of rows by their deviations; no chart where no row is in doubt.

    Deviations that are rounding errors are no doubts, as those of answers with dropout where
    kernels have the whole share.
    """
    if not len(errors):
        return []
    doubted = deviations > ROUNDING * float(np.sqrt(np.square(errors).mean()))
    errors, deviations = errors[doubted].astype(np.float64), deviations[doubted].astype(np.float64)
    if not len(errors):
        return []
    parts = np.array_split(np.argsort(deviations, kind="stable"), min(10, len(errors)))
    squares = np.array(
        [[np.square(deviations[p]).mean(), np.square(errors[p]).mean()] for p in parts]
    )
    times = float(np.sqrt(np.square(errors / deviations).mean()))
    told = f"Errors are {times:.3g} times the {whose}."
    words = (
        "A dot for each tenth of the rows, the surest first; on the line, errors are as large as "
        "the model says."
    )
    said, came_true = np.sqrt(squares).T
    figure = charts.errors_by_deviation(said, came_true, whose)
    title = f"Uncertainty by the {whose}: {target}"
    return [Chart(title, inline_svg(figure, f"{words} {told}"), f"{told} {words}")]


def doubts_of_answers(
    task: Task,
    answers: Float[np.ndarray, "member row output"],
    targets: Float[np.ndarray, "row target"],
    whose: str,
) -> list[Chart]:
    """Of several answers to the same rows: the errors of their mean by how far they are apart.

    Of the first targets of a regression; what the answers tell of deviations is left out.
    """
    values = values_of(task, answers)
    if task.kind != "regression" or (apart := uncertainty(task, values)) is None:
        return []
    errors = np.abs(pooled(task, values) - targets)
    made = []
    for column, target in enumerate(task.targets[:MOST_CHARTED]):
        known = np.isfinite(errors[:, column])
        made += doubts(target, errors[known, column], apart[known, column], whose)
    return made


def doubts_of_samples(run: TrainedRun, outcome: RunOutcome, part: str) -> list[Chart]:
    """The same of `SAMPLES` answers of one run with its dropout, for some complexes of a part."""
    task, complexes = run.recipe.task, outcome.materials.complexes
    if task.kind != "regression" or not drops(run.model):
        return []
    chosen = outcome.materials.split[part][:MOST_SAMPLED]
    answers = Ensemble(run.folder, (run,), SAMPLES).answers(complexes, chosen)
    whose = f"spread of {SAMPLES} answers with dropout"
    return doubts_of_answers(task, answers, complexes.targets_of(chosen), whose)
