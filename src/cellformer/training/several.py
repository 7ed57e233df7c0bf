"""Train several models of one configuration: an ensemble, or a cross-validation."""

import logging
import math
import os
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cellformer.data.dataset import GraphSet
from cellformer.training.answers.conformal import Residuals
from cellformer.training.answers.ensemble import (
    Ensemble,
    MemberKind,
    pooled,
    read_members,
    write_members,
)
from cellformer.training.answers.summary import residuals_of, score_outputs, shown
from cellformer.training.config import RunConfig
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.loop.world import World
from cellformer.training.materials.materials import Materials, gather
from cellformer.training.processes.session import session
from cellformer.training.runs.run_folder import RunFolder, write_json
from cellformer.training.train import resume, train

logger = logging.getLogger(__name__)


def train_ensemble(
    config: RunConfig, path: str | os.PathLike[str], members: int, data: GraphSet | None = None
) -> dict[str, Any]:
    """Trains ``members`` models that differ in ``training.seed`` alone, into a folder of runs.

    Returns the summary: the scores of each, their mean and deviation, and those of the pooled
    answers. The folder predicts like a run. Raises as `train` does.
    """
    return train_several(config, Path(path), "seeds", members, data)


def cross_validate(
    config: RunConfig, path: str | os.PathLike[str], folds: int, data: GraphSet | None = None
) -> dict[str, Any]:
    """Trains one model per fold, each tested on a part of its own, into a folder of runs.

    Returns the summary: the scores of each, their mean and deviation. The folder predicts as an
    ensemble, with intervals from the errors of each model on its test part. Raises as `train` does.
    """
    return train_several(config, Path(path), "folds", folds, data)


def resume_several(path: Path) -> dict[str, Any]:
    """Goes on where `train_ensemble` or `cross_validate` was interrupted."""
    folder = RunFolder(path)
    if folder.summary.exists():
        logger.info("%s is finished already", path)
        return folder.read_summary()
    config = RunConfig.from_json(folder.require(folder.config))
    kind, names = read_members(folder)
    with session(config.training, path) as (world, _):
        world.from_first(lambda: None)  # as `train_several` asks who may have the folder
        return _run(_variants(config, kind, len(names)), config, folder, None, world)


def perform_several(config: RunConfig, path: Path, kind: MemberKind, count: int) -> dict[str, Any]:
    """Trains, goes on, or reads the result, as `Job.perform` does for a single run."""
    folder = RunFolder(path)
    if not folder.config.exists():
        return train_several(config, path, kind, count)
    same = folder.members.exists() and read_members(folder) == (
        kind,
        tuple(_variants(config, kind, count)),
    )
    if not same or RunConfig.from_json(folder.config) != config:
        raise ValueError(
            f"{path} holds a run of another configuration; choose another folder, or move that "
            "one away"
        )
    return resume_several(path)


def train_several(
    config: RunConfig, path: Path, kind: MemberKind, count: int, data: GraphSet | None = None
) -> dict[str, Any]:
    """`train_ensemble` or `cross_validate`."""
    if kind == "seeds" and count < 2:
        raise ValueError(f"an ensemble has at least 2 members, got {count}")
    members = _variants(config, kind, count)
    folder = RunFolder(path)

    def start() -> None:
        folder.claim()
        write_members(folder, kind, tuple(members))
        folder.write_config(config)

    with session(config.training, path) as (world, _):
        world.from_first(start)
        return _run(members, config, folder, data, world)


def _variants(config: RunConfig, kind: MemberKind, count: int) -> dict[str, RunConfig]:
    """The configuration of each member, by the name of its folder."""
    if kind == "folds":
        return {
            f"fold-{fold}": replace(config, data=replace(config.data, folds=count, fold=fold))
            for fold in range(count)
        }
    return {
        f"seed-{seed}": replace(config, training=replace(config.training, seed=seed))
        for seed in range(config.training.seed, config.training.seed + count)
    }


def _run(
    members: dict[str, RunConfig],
    config: RunConfig,
    folder: RunFolder,
    data: GraphSet | None,
    world: World,
) -> dict[str, Any]:
    summaries = {}
    for number, (name, its) in enumerate(members.items()):
        logger.info("model %d of %d: %s", number + 1, len(members), name)
        member = RunFolder(folder.path / name)
        try:
            started = member.config.exists()
            summaries[name] = resume(member.path) if started else train(its, member.path, data=data)
        except TrainingInterrupted as stopped:
            raise TrainingInterrupted(folder.path, stopped.signal) from stopped
    return world.from_first(lambda: _finish(summaries, members, config, folder, data))


def _finish(
    summaries: dict[str, dict[str, Any]],
    members: dict[str, RunConfig],
    config: RunConfig,
    folder: RunFolder,
    data: GraphSet | None,
) -> dict[str, Any]:
    """Scores the members together and writes their common summary."""
    summary = _summary(summaries)
    ensemble = Ensemble.open(folder.path, "best" if _all_have_best(folder) else "last")
    if len({its.data for its in members.values()}) == 1:
        materials = gather(config.data, data, ensemble.runs[0].preparation)
        summary["pooled"] = _score_pooled(ensemble, materials)
    elif ensemble.task.kind == "regression":
        parts = []
        for run in ensemble.runs:
            materials = gather(run.config.data, data, run.preparation)
            outputs = run.outputs(materials.complexes, materials.split["test"])
            parts.append(residuals_of(run.recipe.task, materials, "test", outputs))
        Residuals.joined(parts).write(folder.residuals)
    write_json(folder.summary, summary)
    return folder.read_summary()


def _all_have_best(folder: RunFolder) -> bool:
    _, names = read_members(folder)
    return all(RunFolder(folder.path / name).weights("best").exists() for name in names)


def _summary(summaries: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the members' summaries say, side by side, with mean and deviation of each score."""
    scores = {
        name: its["scores"].get("best", its["scores"]["last"]) for name, its in summaries.items()
    }
    first = next(iter(summaries.values()))
    apart = {
        part: {
            metric: [s[part][metric] for s in scores.values() if s[part][metric] is not None]
            for metric in values
        }
        for part, values in next(iter(scores.values())).items()
    }
    return {
        "metric": first["metric"],
        "members": scores,
        "mean": {p: {m: _mean(v) for m, v in its.items()} for p, its in apart.items()},
        "deviation": {p: {m: _deviation(v) for m, v in its.items()} for p, its in apart.items()},
        "data": first["data"],
        "versions": first["versions"],
        "machine": first["machine"],
        "seconds": round(sum(its["seconds"] for its in summaries.values()), 1),
    }


def _mean(values: list[float]) -> float:
    return statistics.fmean(values) if values else math.nan


def _deviation(values: list[float]) -> float:
    """The sample standard deviation."""
    return statistics.stdev(values) if len(values) > 1 else math.nan


def _score_pooled(ensemble: Ensemble, materials: Materials) -> dict[str, dict[str, float]]:
    """Scores the pooled answers, and keeps their errors on the validation part."""
    told = {}
    for part in ("val", "test"):
        chosen = materials.split[part]
        if not len(chosen):
            continue
        outputs = pooled(ensemble.task, ensemble.answers(materials.complexes, chosen))
        targets = materials.complexes.targets_of(chosen)
        told[part] = score_outputs(ensemble.task, outputs.astype(np.float32), targets)
        if part == "val" and ensemble.task.kind == "regression":
            name = f"the validation part of {materials.name}"
            Residuals.of(ensemble.task, outputs, targets, name).write(ensemble.folder.residuals)
    return told


def describe_several(summary: dict[str, Any]) -> str:
    """The result in a few lines."""
    metric = summary["metric"]
    lines = []
    for name, scored in summary["members"].items():
        told = ", ".join(f"{part} {metric} {shown(its[metric])}" for part, its in scored.items())
        lines.append(f"{name}: {told}")
    for part, mean in summary["mean"].items():
        deviation = summary["deviation"][part][metric]
        lines.append(f"mean: {part} {metric} {shown(mean[metric])} ± {shown(deviation)}")
    for part, scored in summary.get("pooled", {}).items():
        lines.append(f"all together: {part} {metric} {shown(scored[metric])}")
    return "\n".join(lines)
