"""The result of a run, beside that of predicting without a model."""

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray

from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.dataset import Task
from cellformer.training.answers.conformal import Residuals
from cellformer.training.answers.deviations import values_of
from cellformer.training.answers.predictions import predictions_of, write_predictions
from cellformer.training.answers.standard_errors import standard_error
from cellformer.training.answers.trained_run import TrainedRun
from cellformer.training.loop.metrics import scores
from cellformer.training.materials.materials import Materials
from cellformer.training.runs.curve import Course, seconds_of
from cellformer.training.runs.environment import read_sessions
from cellformer.training.runs.recipe import Recipe
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import (
    Classes,
    LearnedData,
    ScoreValue,
    Summary,
    defined,
    undefined_as_none,
)
from cellformer.training.runs.weights import load_weights

Outputs: TypeAlias = Float[np.ndarray, "row output"]
MOST_TARGETS = 3
"""Of more targets the closing lines of a run do not tell the classes."""
Answer: TypeAlias = Callable[[RaggedComplexes, Int64[np.ndarray, " chosen"]], Outputs]


def write_summary(
    folder: RunFolder,
    materials: Materials,
    recipe: Recipe,
    course: Course,
    parameters: int,
    seed: int,
) -> Summary:
    """Scores the best and the last weights on validation and test data, and keeps what they say.

    The reported test score is that of the epoch with the best validation score; the last epoch's
    stands beside it. Writes summary.json, predictions.csv and, for a regression, residuals.json;
    of targets that were computed, hundreds of each row, summary.json alone.
    """
    run = TrainedRun.open(folder.path, "last")

    def opened(which: str) -> Answer:
        load_weights(folder.require(folder.weights(which)), run.model)
        return run.outputs

    outputs = outputs_of_weights(folder, materials, opened)
    summary = summary_of(folder, materials, course, outputs, parameters, seed)
    if run.config.data.computed_targets:
        summary.write(folder.path)
        return summary
    if recipe.task.kind == "regression":
        validated = outputs.get("best", outputs["last"])["val"]
        residuals_of(recipe.task, materials, "val", validated).write(folder.residuals)
    return finish(folder, materials, outputs, summary)


def finish(
    folder: RunFolder,
    materials: Materials,
    outputs: Mapping[str, Mapping[str, Outputs]],
    summary: Summary,
) -> Summary:
    """Writes predictions.csv, and summary.json, by which a run is known to be finished."""
    told = predictions_of(materials, outputs.get("best", outputs["last"]))
    write_predictions(folder.predictions, [told])
    summary.write(folder.path)
    return summary


def outputs_of_weights(
    folder: RunFolder, materials: Materials, opened: Callable[[str], Answer]
) -> dict[str, dict[str, Outputs]]:
    """What the "best" and the "last" weights say of each part that is scored.

    ``opened`` gives what answers with these weights.
    """
    outputs = {}
    for which in ("best", "last"):
        if folder.weights(which).exists():  # no epoch may have had a defined validation score
            answer = opened(which)
            outputs[which] = {
                part: answer(materials.complexes, chosen)
                for part, chosen in materials.split.items()
                if part != "train" and len(chosen)
            }
    return outputs


def summary_of(
    folder: RunFolder,
    materials: Materials,
    course: Course,
    outputs: Mapping[str, Mapping[str, Outputs]],
    parameters: int,
    seed: int,
) -> Summary:
    """What a training came to.

    ``outputs`` are those of the "best" and the "last" weights for each part that is scored.
    """
    task, complexes = materials.task, materials.complexes
    assert complexes.targets is not None
    known = {part: complexes.targets_of(chosen) for part, chosen in materials.split.items()}

    def scored(rows: Outputs, part: str) -> dict[str, ScoreValue]:
        return undefined_as_none(score_outputs(task, rows, known[part]))

    def same_for_all(part: str) -> Outputs:
        return constant_outputs(task, known["train"], len(known[part]))

    return Summary(
        metric=task.metric,
        best_epoch=course.best_epoch,
        epochs=len(course.curve),
        scores={
            which: {part: scored(rows, part) for part, rows in its.items()}
            for which, its in outputs.items()
        },
        standard_errors={
            which: undefined_as_none(
                {part: standard_error(task, rows, known[part]) for part, rows in its.items()}
            )
            for which, its in outputs.items()
        },
        baseline={part: scored(same_for_all(part), part) for part in outputs["last"]},
        complexes={part: len(chosen) for part, chosen in materials.split.items()},
        classes={part: class_counts(task, targets) for part, targets in known.items()}
        if task.labels
        else {},
        rows_without_complex=len(materials.failures),
        molecules_in_several_parts=len(materials.leaks),
        rows_left_out=materials.left_out,
        labeled=dict(
            zip(task.targets, (~np.isnan(complexes.targets)).sum(0).tolist(), strict=True)
        ),
        parameters=parameters,
        data=LearnedData(materials.name, materials.digest),
        seed=seed,
        seconds=seconds_of(course.curve),
        sessions=read_sessions(folder),
    )


def residuals_of(task: Task, materials: Materials, part: str, outputs: Outputs) -> Residuals:
    """The errors of a regression on a part of its data."""
    targets = materials.complexes.targets_of(materials.split[part])
    return Residuals.of(task, outputs, targets, f"the {part} part of {materials.name}")


def score_outputs(
    task: Task,
    outputs: Float[np.ndarray, "row output"],
    targets: Float[np.ndarray, "row target"],
) -> dict[str, float]:
    """The metrics of predictions that are arrays."""
    values = torch.from_numpy(np.array(values_of(task, outputs)))
    return scores(task, values, torch.from_numpy(np.array(targets)))


def constant_outputs(
    task: Task, training_targets: NDArray[np.floating], rows: int
) -> Float[np.ndarray, "row output"]:
    """The best that one answer for all rows can do: the training median, or the commonest class.

    Where squares are what counts, it is the training mean. Of targets that flip with the
    orientation it is zero, the only answer that does not depend on how cells are oriented.
    """
    middle = np.mean if task.metric in ("rmse", "r2") else np.median
    columns = []
    for column in training_targets.T:
        known = column[~np.isnan(column)]
        if task.flips:
            columns.append([0.0])
        elif task.kind == "regression":
            columns.append([float(middle(known)) if len(known) else math.nan])
        elif task.kind == "binary":
            columns.append([float(np.mean(known)) - 0.5 if len(known) else 0.0])
        else:
            columns.append(np.bincount(known.astype(int), minlength=task.outputs).tolist())
    return np.tile(np.concatenate(columns).astype(training_targets.dtype), (rows, 1))


def class_counts(task: Task, targets: Float[np.ndarray, "row target"]) -> dict[str, dict[str, int]]:
    """How many rows each target has of each class, by its label; unknown ones are not counted."""
    counts = {}
    for name, column in zip(task.targets, targets.T, strict=True):
        known = column[~np.isnan(column)].astype(np.int64)
        rows = np.bincount(known, minlength=len(task.labels)).tolist()
        counts[name] = dict(zip(map(str, task.labels), rows, strict=True))
    return counts


def describe_classes(classes: Classes) -> list[str]:
    """Of each target, how many of its values are the rarest class, in every part."""
    lines = []
    for name, counts in classes.get("train", {}).items():
        rare = min(counts, key=lambda label: counts[label])
        shares = ", ".join(
            f"{part} {its[name][rare]:,} of {sum(its[name].values()):,}"
            for part, its in classes.items()
        )
        lines.append(f"{name} is {rare}: {shares}")
    return lines


def describe(summary: Summary) -> str:
    """The result in a few lines."""
    metric = summary.metric
    classes = describe_classes(summary.classes)
    lines = classes if len(classes) <= MOST_TARGETS else []
    for which, when in (
        ("best", f"best validation epoch ({summary.best_epoch})"),
        ("last", f"last epoch ({summary.epochs})"),
    ):
        if which in summary.scores:
            told = ", ".join(
                f"{part} {metric} {shown(its[metric])}"
                for part, its in summary.scores[which].items()
            )
            lines.append(f"{when}: {told}")
    part = "test" if "test" in summary.baseline else "val"
    base, best = (defined(its[part][metric]) for its in (summary.baseline, summary.reported))
    lines.append(f"the same answer for all rows: {part} {metric} {shown(base)}")
    if metric in ("mae", "rmse") and base and not math.isnan(best / base):
        lines.append(f"ratio: {best / base:.3f}")
    return "\n".join(lines)


def shown(score: ScoreValue) -> str:
    """A score in a line of text; there is none where, say, a part has only one class."""
    return "undefined" if score is None or math.isnan(score) else f"{score:.4f}"
