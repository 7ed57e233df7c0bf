"""Whether a program answers as its run does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax
from torch import Tensor

from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.data.dataset import Task
from cellformer.data.loading.loader import batches
from cellformer.exporting.program import Program
from cellformer.training.answers.deviations import values_of
from cellformer.training.answers.ensemble import Ensemble, pooled, uncertainty

Answering: TypeAlias = Callable[[dict[str, Tensor]], dict[str, Tensor]]


@dataclass(frozen=True)
class Deviation:
    """The largest difference of answers on some rows, and its unit in words."""

    rows: int
    largest: float
    unit: str


def deviation_of_program(
    ensemble: Ensemble, program: Program, answering: Answering, complexes: RaggedComplexes
) -> Deviation:
    """How far what a program answers lies from what `predict` says of these complexes."""
    task, training = ensemble.task, ensemble.runs[0].config.training
    every = np.arange(len(complexes))
    expected = predicted(task, ensemble.answers(complexes, every))
    loader = batches(
        complexes, every, training.batch_size, shuffle=False, batch_cells=training.batch_cells
    )
    parts = [answering(program.inputs.tensors(batch)) for batch in loader]
    unit, scale = "a probability", np.ones(1)
    if task.kind == "regression":
        unit = "in units of the deviation of the target"
        scale = _deviations(ensemble, expected["prediction"])
    largest = 0.0
    for name, right in expected.items():
        found = torch.cat([part[name] for part in parts]).double().numpy()
        if found.shape != right.shape:
            return Deviation(len(every), np.inf, f"as the shapes {found.shape}, {right.shape} tell")
        if found.size:
            largest = max(largest, float((np.abs(found - right) / scale).max()))
    return Deviation(len(every), largest, unit)


def predicted(task: Task, answers: NDArray[np.floating]) -> dict[str, NDArray[np.float64]]:
    """What `Program` gives, made of the answers of all members as `predict` does it."""
    outputs, apart = pooled(task, answers).astype(np.float64), uncertainty(task, answers)
    if task.kind == "regression":
        told = values_of(task, outputs)
    else:
        told = softmax(outputs, axis=1) if task.kind == "multiclass" else expit(outputs)
    found = {"prediction": np.asarray(told)}
    if apart is not None:
        if task.kind == "multiclass":
            apart = np.take_along_axis(apart, told.argmax(axis=1)[:, None], 1)
        found["uncertainty"] = apart.astype(np.float64)
    return found


def _deviations(ensemble: Ensemble, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of every target, as training saw it; that of what is predicted where it saw none."""
    known = np.array(ensemble.runs[0].recipe.scaling.deviation)
    if ensemble.runs[0].config.training.standardize or not len(values):
        return known
    spread = values.std(axis=0)
    return np.where(spread > 0, spread, 1.0)
