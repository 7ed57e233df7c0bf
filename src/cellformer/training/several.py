"""Train several models of one configuration: an ensemble, or a cross-validation."""

import logging
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cellformer.basics.checks import at_least
from cellformer.data.dataset import GraphSet
from cellformer.training.answers.conformal import Residuals
from cellformer.training.answers.ensemble import (
    Ensemble,
    MemberKind,
    pooled,
    read_members,
    write_members,
)
from cellformer.training.answers.predictions import predictions_of, write_predictions
from cellformer.training.answers.summary import residuals_of, score_outputs, shown
from cellformer.training.config import RunConfig
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.loop.world import World
from cellformer.training.materials.materials import Materials, gather
from cellformer.training.processes.launch import Launcher
from cellformer.training.processes.session import session
from cellformer.training.runs.extending import lay_out
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.summary import (
    EnsembleSummary,
    Scores,
    ScoreValue,
    Summary,
    undefined_as_none,
)
from cellformer.training.train import check_machine, recipe_for, resume, train

logger = logging.getLogger(__name__)


def train_ensemble(
    config: RunConfig, path: str | os.PathLike[str], members: int, data: GraphSet | None = None
) -> EnsembleSummary:
    """Trains ``members`` models that differ in ``training.seed`` alone, into a folder of runs.

    Returns the summary: the scores of each, their mean and deviation, and those of the pooled
    answers. The folder predicts like a run. Raises as `train` does.
    """
    return train_several(config, Path(path), "seeds", members, data)


def cross_validate(
    config: RunConfig, path: str | os.PathLike[str], folds: int, data: GraphSet | None = None
) -> EnsembleSummary:
    """Trains one model per fold, each tested on a part of its own, into a folder of runs.

    Returns the summary: the scores of each, their mean and deviation. The folder predicts as an
    ensemble, with intervals from the errors of each model on its test part. Raises as `train` does.
    """
    return train_several(config, Path(path), "folds", folds, data)


def resume_several(
    path: Path, epochs: int | None = None, launcher: Launcher | None = None
) -> EnsembleSummary:
    """Goes on where `train_ensemble` or `cross_validate` was interrupted.

    ``epochs`` are those of each model, more than they were begun with, see `resume`.
    """
    folder = RunFolder(path)
    if epochs is None and folder.summary.exists():
        logger.info("%s is finished already", path)
        return EnsembleSummary.read(path)
    config = RunConfig.from_json(folder.require(folder.config))
    kind, names = read_members(folder)
    with session(config.training, path) as (world, _):
        if epochs is None:
            world.from_first(lambda: None)  # as `train_several` asks who may have the folder
        else:
            config = replace(config, training=replace(config.training, epochs=epochs))
            world.from_first(lambda: _lay_out(folder, names, config, epochs))
        members = _variants(config, kind, len(names))
        return _run(members, config, folder, None, world, launcher)


def _lay_out(folder: RunFolder, names: Sequence[str], config: RunConfig, epochs: int) -> None:
    for name in names:
        member = RunFolder(folder.path / name)
        if member.config.exists():
            lay_out(member, epochs)
    folder.summary.unlink(missing_ok=True)
    folder.write_config(config)


def perform_several(
    config: RunConfig,
    path: Path,
    kind: MemberKind,
    count: int,
    launcher: Launcher | None = None,
) -> EnsembleSummary:
    """Trains, goes on, or reads the result, as `Job.perform` does for a single run."""
    folder = RunFolder(path)
    if not folder.config.exists():
        return train_several(config, path, kind, count, launcher=launcher)
    same = folder.members.exists() and read_members(folder) == (
        kind,
        tuple(_variants(config, kind, count)),
    )
    if not same or RunConfig.from_json(folder.config) != config:
        raise ValueError(
            f"{path} holds a run of another configuration; choose another folder, or move that "
            "one away"
        )
    return resume_several(path, launcher=launcher)


def train_several(
    config: RunConfig,
    path: Path,
    kind: MemberKind,
    count: int,
    data: GraphSet | None = None,
    launcher: Launcher | None = None,
) -> EnsembleSummary:
    """`train_ensemble` or `cross_validate`; ``launcher`` as of `train`, for one after the other."""
    if kind == "seeds" and count < 2:
        raise ValueError(f"an ensemble has at least 2 members, got {count}")
    if kind == "folds":
        at_least(3, folds=count)
    members = _variants(config, kind, count)
    folder = RunFolder(path)
    first = next(iter(members.values()))
    check_machine(config, launcher)

    def start() -> None:
        folder.claim()
        write_members(folder, kind, tuple(members))
        folder.write_config(config)

    with session(config.training, path) as (world, _):
        world.from_first(folder.refuse_taken)
        world.together(lambda: recipe_for(first, gather(first.data, data)))  # raises what it would
        world.from_first(start)
        return _run(members, config, folder, data, world, launcher)


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
    launcher: Launcher | None,
) -> EnsembleSummary:
    summaries = {}
    for number, (name, its) in enumerate(members.items()):
        logger.info("model %d of %d: %s", number + 1, len(members), name)
        member = RunFolder(folder.path / name)
        try:
            if member.config.exists():
                summaries[name] = resume(member.path, launcher=launcher)
            else:
                summaries[name] = train(its, member.path, data=data, launcher=launcher)
        except TrainingInterrupted as stopped:
            raise TrainingInterrupted(folder.path, stopped.signal) from stopped
    return world.from_first(lambda: _finish(summaries, members, config, folder, data))


def _finish(
    summaries: Mapping[str, Summary],
    members: dict[str, RunConfig],
    config: RunConfig,
    folder: RunFolder,
    data: GraphSet | None,
) -> EnsembleSummary:
    """Scores the members together and writes their common summary and predictions."""
    ensemble = Ensemble.open(folder.path, "best" if _all_have_best(folder) else "last")
    pooled_scores: dict[str, dict[str, ScoreValue]] = {}
    if len({its.data for its in members.values()}) == 1:
        materials = gather(config.data, data, ensemble.runs[0].preparation)
        pooled_scores = _score_pooled(ensemble, materials)
    else:
        _keep_tested(ensemble, data)
    summary = _side_by_side(summaries, pooled_scores)
    summary.write(folder.path)
    return summary


def _keep_tested(ensemble: Ensemble, data: GraphSet | None) -> None:
    """Keeps what each model says of the part that it was tested on, and its errors there."""
    tables, residuals = [], []
    for run in ensemble.runs:
        materials = gather(run.config.data, data, run.preparation)
        outputs = run.outputs(materials.complexes, materials.split["test"])
        tables.append(predictions_of(materials, {"test": outputs}))
        if ensemble.task.kind == "regression":
            residuals.append(residuals_of(run.recipe.task, materials, "test", outputs))
    write_predictions(ensemble.folder.predictions, tables)
    if residuals:
        Residuals.joined(residuals).write(ensemble.folder.residuals)


def _all_have_best(folder: RunFolder) -> bool:
    _, names = read_members(folder)
    return all(RunFolder(folder.path / name).weights("best").exists() for name in names)


def _side_by_side(summaries: Mapping[str, Summary], pooled_scores: Scores) -> EnsembleSummary:
    """What the members' summaries say, with mean and deviation of each score."""
    scores = {name: its.reported for name, its in summaries.items()}
    first = next(iter(summaries.values()))

    def over_members(statistic: Callable[[Sequence[float]], ScoreValue]) -> Scores:
        def of(part: str, metric: str) -> ScoreValue:
            found = (its[part].get(metric) for its in scores.values())
            return statistic([score for score in found if score is not None])

        return {p: {m: of(p, m) for m in values} for p, values in first.reported.items()}

    return EnsembleSummary(
        first.metric,
        scores,
        over_members(_mean),
        over_members(_deviation),
        pooled_scores,
        first.data,
        round(sum(its.seconds for its in summaries.values()), 1),
        first.session,
    )


def _mean(values: Sequence[float]) -> ScoreValue:
    return statistics.fmean(values) if values else None


def _deviation(values: Sequence[float]) -> ScoreValue:
    """The sample standard deviation."""
    return statistics.stdev(values) if len(values) > 1 else None


def _score_pooled(ensemble: Ensemble, materials: Materials) -> dict[str, dict[str, ScoreValue]]:
    """Scores the pooled answers, and keeps them and their errors on the validation part."""
    task, complexes = ensemble.task, materials.complexes
    outputs = {}
    for part, chosen in materials.split.items():
        if part != "train" and len(chosen):
            answers = ensemble.answers(complexes, chosen)
            outputs[part] = pooled(task, answers).astype(answers.dtype)
    if task.kind == "regression":
        name = f"the validation part of {materials.name}"
        known = complexes.targets_of(materials.split["val"])
        Residuals.of(task, outputs["val"], known, name).write(ensemble.folder.residuals)
    write_predictions(ensemble.folder.predictions, [predictions_of(materials, outputs)])
    return {
        part: undefined_as_none(
            score_outputs(task, rows, complexes.targets_of(materials.split[part]))
        )
        for part, rows in outputs.items()
    }


def describe_several(summary: EnsembleSummary) -> str:
    """The result in a few lines."""
    metric = summary.metric
    lines = []
    for name, scored in summary.members.items():
        told = ", ".join(f"{part} {metric} {shown(its[metric])}" for part, its in scored.items())
        lines.append(f"{name}: {told}")
    for part, mean in summary.mean.items():
        deviation = summary.deviation[part][metric]
        lines.append(f"mean: {part} {metric} {shown(mean[metric])} ± {shown(deviation)}")
    for part, together in summary.pooled.items():
        lines.append(f"all together: {part} {metric} {shown(together[metric])}")
    return "\n".join(lines)
