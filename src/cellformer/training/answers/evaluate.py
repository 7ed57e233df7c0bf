"""Score a trained model."""

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float

from cellformer.data.dataset import Task
from cellformer.data.preparation import Source
from cellformer.training.answers.answer import open_input, residuals_for
from cellformer.training.answers.calibration import doubts_judged, reliability
from cellformer.training.answers.conformal import coverage
from cellformer.training.answers.deviations import values_of
from cellformer.training.answers.ensemble import Ensemble, pooled, uncertainty
from cellformer.training.answers.summary import score_outputs
from cellformer.training.loop.metrics import scores_by_target
from cellformer.training.materials.materials import gather


def evaluate(
    run: str | os.PathLike[str],
    source: Source | None = None,
    part: str = "test",
    weights: str = "best",
    on_error: Literal["skip", "fail"] = "skip",
    interval: float | None = None,
    calibrate: Source | None = None,
    smiles_column: str | None = None,
    samples: int | None = None,
) -> dict[str, Any]:
    """The scores on all rows of a source, or on a part of the run's own data.

    An ensemble is scored by its pooled answers; the parts of a cross-validation's own data are
    not one part, so it needs a source. With ``interval`` the share of true values inside their
    intervals is told, see `predict`, also for ``samples``; with classes, how well probabilities are
    calibrated, and where values have an uncertainty, how well that is (see `doubts_judged`).

    Raises FileNotFoundError for a missing run or source, ValueError if there is nothing to score,
    or with on_error="fail" where a row has no complex.
    """
    ensemble = Ensemble.open(Path(run), weights).by(samples=samples)
    told = evaluate_with(ensemble, source, part, on_error, interval, calibrate, smiles_column)
    return {"weights": weights, **told}


def evaluate_with(
    ensemble: Ensemble,
    source: Source | None = None,
    part: str = "test",
    on_error: Literal["skip", "fail"] = "skip",
    interval: float | None = None,
    calibrate: Source | None = None,
    smiles_column: str | None = None,
) -> dict[str, Any]:
    """`evaluate` with models that are open already."""
    task = ensemble.task
    if source is None:
        data = ensemble.runs[0].config.data
        if any(member.config.data != data for member in ensemble.runs):
            raise ValueError(
                f"{ensemble.folder.path} is a cross-validation, whose runs have different "
                f"{part} parts: give the data to score, or evaluate one of its runs"
            )
        materials = gather(data, preparation=ensemble.runs[0].preparation)
        complexes, chosen, name = materials.complexes, materials.split[part], materials.name
        counted = len(np.unique(materials.rows[chosen]))
        failures = materials.failures
    else:
        labeled, _ = open_input(ensemble, source, labeled=True, smiles_column=smiles_column)
        name = labeled.name
        if labeled.task_or_none is None:
            raise ValueError(f"{name} lacks the targets of this run: {', '.join(task.targets)}")
        prepared = ensemble.runs[0].prepare(labeled)
        complexes, failures = prepared.complexes, prepared.failures
        chosen = np.arange(len(prepared.rows))
        counted = len(np.unique(prepared.rows))
        if failures and on_error == "fail":
            raise ValueError(f"{name}: row {failures[0][0]} has no complex: {failures[0][1]}")
    if not len(chosen):
        of = f"the {part} part of {name}" if source is None else name
        raise ValueError(f"{of} is empty; there is nothing to score")
    result: dict[str, Any] = {
        "source": name,
        "part": part if source is None else "all",
        "complexes": counted,
        "rows_without_complex": len(failures),
    }
    if len(ensemble.runs) > 1:
        result["members"] = len(ensemble.runs)
    if ensemble.samples is not None:
        result["samples"] = ensemble.samples
    targets = np.array(complexes.targets_of(chosen))
    if np.isnan(targets).all():
        raise ValueError(f"{name}: no row has a value of {', '.join(task.targets)} to score")
    answers = ensemble.answers(complexes, chosen)
    outputs = pooled(task, answers).astype(answers.dtype)
    result |= _scores(task, outputs, targets)
    doubts = uncertainty(task, answers)
    if task.kind == "regression" and doubts is not None:
        result["uncertainty"] = doubts_judged(task, outputs, targets, doubts)
    if interval is not None:
        residuals = residuals_for(ensemble, calibrate)
        lower, upper = residuals.interval(task, outputs.astype(np.float64), interval)
        half = (upper - lower).mean(axis=0) / 2
        result["interval"] = {
            "level": interval,
            "coverage": dict(zip(task.targets, coverage(lower, upper, targets), strict=True)),
            "half_width": dict(zip(task.targets, half.tolist(), strict=True)),
        }
    return result


def _scores(
    task: Task,
    outputs: Float[np.ndarray, "row output"],
    targets: Float[np.ndarray, "row target"],
) -> dict[str, Any]:
    told: dict[str, Any] = {"scores": score_outputs(task, outputs, targets)}
    if len(task.targets) > 1:
        values = torch.from_numpy(np.array(values_of(task, outputs)))
        apart = scores_by_target(task, values, torch.from_numpy(targets))
        labeled = np.isfinite(targets).sum(axis=0).tolist()
        told["targets"] = {
            name: {"labeled": count, **apart[name]}
            for name, count in zip(task.targets, labeled, strict=True)
        }
    if task.kind != "regression":
        told["calibration"] = reliability(task, outputs, targets)
    return told
