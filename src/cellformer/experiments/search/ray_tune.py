"""The parts of Ray Tune that `tune` is put together from. Imports Ray and Optuna."""

import csv
import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import lightning.pytorch as pl
import numpy as np
import optuna
from ray import tune as ray_tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search import Searcher

from cellformer.basics.stopping import StopRequests
from cellformer.experiments.ray.carrying import Asker, at_work
from cellformer.experiments.ray.cluster import Connection
from cellformer.experiments.ray.places import whereabouts
from cellformer.experiments.running.jobs import Job
from cellformer.experiments.running.progress_display import ProgressDisplay
from cellformer.experiments.running.runner import reason
from cellformer.experiments.search.folder import SearchFolder, Trial, best_of, described
from cellformer.experiments.search.space import Choice, Range, SearchSpace
from cellformer.training.config import RunConfig
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.runs.run_folder import RunFolder

logger = logging.getLogger(__name__)

EPOCH, SCORE, ENDED, ERROR = "epoch", "score", "ended", "error"


def scores_so_far(folder: Path, metric: str, higher: bool) -> list[float]:
    """The best validation score after each epoch of a run; the worst there is before the first."""
    best = -math.inf if higher else math.inf
    found = []
    try:
        with RunFolder(folder).curve.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                value = float(row[f"val_{metric}"] or "nan")
                if not math.isnan(value):
                    best = max(best, value) if higher else min(best, value)
                found.append(best)
    except FileNotFoundError:
        pass
    return found


class Reports(pl.Callback):
    """Tells Ray Tune of every epoch, those before an interruption first; it may end the trial."""

    def __init__(self, folder: Path, metric: str, higher: bool):
        self.scores: Callable[[], list[float]] = lambda: scores_so_far(folder, metric, higher)
        self.told = 0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """After a resumption."""
        self.tell(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """After the learning curve has been written."""
        self.tell(trainer)

    def tell(self, trainer: pl.Trainer) -> None:
        """The last epoch is left to the end, so that no finished training lacks its summary."""
        for epoch, score in enumerate(self.scores(), start=1):
            if self.told < epoch < (trainer.max_epochs or 0):
                self.told = epoch
                ray_tune.report({EPOCH: epoch, SCORE: score})


def perform(given: dict[str, Any]) -> None:
    """What the worker of a trial does; an error of the training is its result."""
    job, metric, higher = cast(Job, given["job"]), given["metric"], given["higher"]
    with at_work(given["asker"], job.folder.name, job.folder) as work:
        reports = Reports(work.folder, metric, higher)
        try:
            replace(job, folder=work.folder).perform([*work.callbacks, reports])
        except TrainingInterrupted as stopped:  # Ray's answer to a report was to end
            raise SystemExit(0) from stopped
        except Exception as error:
            worst = -math.inf if higher else math.inf
            ray_tune.report({EPOCH: 0, SCORE: worst, ENDED: "failed", ERROR: reason(error)})
            return
        scores = scores_so_far(work.folder, metric, higher)
        ray_tune.report({EPOCH: len(scores), SCORE: scores[-1], ENDED: "finished"})


class OptunaTrials(Searcher):
    """Optuna's sampler over a search on disk: what it holds is known, what is unfinished first."""

    def __init__(
        self,
        folder: SearchFolder,
        base: RunConfig,
        space: SearchSpace,
        trials: int,
        seed: int,
        metric: str,
        higher: bool,
        deadline: float,
        asker: Asker,
        shown: ProgressDisplay,
    ):
        super().__init__(metric=SCORE, mode="max" if higher else "min")
        self.folder, self.base, self.space, self.total = folder, base, space, trials
        self.higher, self.deadline, self.shown, self.place = higher, deadline, shown, asker.place
        self.given: dict[str, Any] = {"metric": metric, "higher": higher, "asker": asker}
        self.trials = {trial.number: trial for trial in folder.trials()}
        self.unfinished = [t for t in self.trials.values() if t.state == "running"]
        self.running: dict[str, tuple[Trial, optuna.Trial]] = {}
        self.starts: dict[int, str] = {}
        self.distributions = {
            key: _distribution(dimension) for key, dimension in space.dimensions.items()
        }
        self.seed = seed
        self.study = optuna.create_study(direction="maximize" if higher else "minimize")
        for trial in self.trials.values():
            if trial.state != "running":
                self.study.add_trial(self._frozen(trial))
        own = space.of(base)
        if not self.trials and own is not None:  # no search ends worse than where it began
            self.study.enqueue_trial(self._parameters(own))

    def suggest(self, trial_id: str) -> Any:
        """The next trial: one that was interrupted, or a new one; FINISHED after the last."""
        while (chosen := self._next()) is not None:
            trial, asked = chosen
            try:
                config = self.space.config(self.base, trial.values)
            except ValueError as error:  # these values do not go together
                self._ended(replace(trial, state="failed", error=str(error)), asked)
                continue
            self.running[trial_id] = trial, asked
            return {"job": Job(config, self.folder.run(trial.number).absolute()), **self.given}
        return Searcher.FINISHED

    def _next(self) -> tuple[Trial, optuna.Trial] | None:
        if self.unfinished:
            trial = self.unfinished.pop(0)
            self.study.enqueue_trial(self._parameters(trial.values))
            return trial, self.study.ask(self.distributions)
        if len(self.trials) >= self.total or time.monotonic() >= self.deadline:
            return None
        number = max(self.trials, default=-1) + 1
        # A generator for each trial, so that what is drawn does not depend on interruptions.
        generator = np.random.default_rng([self.seed, number])
        self.study.sampler = optuna.samplers.TPESampler(seed=int(generator.integers(1 << 31)))
        asked = self.study.ask(self.distributions)
        trial = Trial(number, self._values(asked.params))
        self.trials[trial.number] = trial
        self.folder.write(trial)
        return trial, asked

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Keeps the latest, and shows it."""
        trial, asked = self.running[trial_id]
        score = result[SCORE] if math.isfinite(result[SCORE]) else None
        self.running[trial_id] = replace(trial, epochs=result[EPOCH], score=score), asked

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Keeps how it ended; one that the end of the time cut short stays unfinished."""
        if trial_id not in self.running:
            return
        trial, asked = self.running.pop(trial_id)
        if result is not None and SCORE in result:
            score = result[SCORE] if math.isfinite(result[SCORE]) else None
            trial = replace(trial, epochs=result[EPOCH], score=score)
        ended = (result or {}).get(ENDED)
        if error:
            trial = replace(trial, state="failed", error="its worker was lost again and again")
        elif ended is not None:
            trial = replace(trial, state=ended, error=(result or {}).get(ERROR))
        elif time.monotonic() < self.deadline:
            trial = replace(trial, state="stopped")
        self._ended(trial, asked)

    def _ended(self, trial: Trial, asked: optuna.Trial) -> None:
        """Keeps and shows how a trial ended."""
        self.trials[trial.number] = trial
        self.folder.write(trial)
        if trial.score is None:
            self.study.tell(asked, state=optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(asked, trial.score)
        trials = [self.trials[number] for number in sorted(self.trials)]
        self.folder.write_table(trials)
        best = best_of(trials, self.higher)
        if best is not None:
            self.folder.write_best(self.space.config(self.base, best.values))
        self.shown.finished(name_of(trial))
        score = "no score" if trial.score is None else f"{trial.score:.4f}"
        why = f": {trial.error}" if trial.error else ""
        how = "cut short" if trial.state == "running" else trial.state
        logger.info("%s %s after %d epochs, %s%s; %s", name_of(trial), how, trial.epochs, score,
                    why, described(trial.values))  # fmt: skip

    def refresh(self) -> None:
        """Shows where trials have begun, and how far they are."""
        for trial, _ in list(self.running.values()):
            run = self.folder.run(trial.number)
            where = whereabouts(self.place, run.name)
            if where is not None and self.starts.get(trial.number) != where:
                self.starts[trial.number] = where
                epochs = self.space.config(self.base, trial.values).training.fixed_epochs
                self.shown.started(name_of(trial), where, run, epochs)
        self.shown.refresh()

    def save(self, checkpoint_path: str) -> None:
        """Nothing: all is in the folder already."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing is ever read from a pickle."""
        raise NotImplementedError("a search goes on from its folder")

    def _frozen(self, trial: Trial) -> optuna.trial.FrozenTrial:
        states = optuna.trial.TrialState
        return optuna.trial.create_trial(
            params=self._parameters(trial.values),
            distributions=self.distributions,
            value=trial.score,
            state=states.FAIL if trial.score is None else states.COMPLETE,
        )

    def _parameters(self, values: dict[str, Any]) -> dict[str, Any]:
        """What Optuna calls them: the place of a choice stands for it, as it may be anything."""
        return {
            key: d.values.index(values[key]) if isinstance(d, Choice) else values[key]
            for key, d in self.space.dimensions.items()
        }

    def _values(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {
            key: d.values[parameters[key]] if isinstance(d, Choice) else parameters[key]
            for key, d in self.space.dimensions.items()
        }


class Watch(ray_tune.Callback):
    """Keeps the display up to date, and the signals with us; ends what would wait for ever."""

    def __init__(self, searcher: OptunaTrials, requests: StopRequests, connection: Connection):
        self.searcher = searcher
        self.requests = requests
        self.connection = connection

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Ray Tune has taken SIGUSR1 for itself, to end as if all were done."""
        self.requests.listen()

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Several times a second; display and connection look less often."""
        self.connection.check()
        self.searcher.refresh()


def halving(searcher: OptunaTrials, max_epochs: int, grace: int, reduction: float) -> ASHAScheduler:
    """Asynchronous successive halving that knows what earlier trials had scored, and when.

    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020.
    """
    scheduler = ASHAScheduler(
        time_attr=EPOCH,
        metric=SCORE,
        mode=searcher.mode,
        max_t=max_epochs,
        grace_period=min(grace, max_epochs),
        reduction_factor=reduction,
    )
    for trial in searcher.trials.values():
        if trial.state in ("finished", "stopped"):
            past = cast(Any, Past(f"past-{trial.number}"))
            scheduler.on_trial_add(cast(Any, None), past)
            run = searcher.folder.run(trial.number)
            scores = scores_so_far(run, searcher.given["metric"], searcher.higher)
            for epoch, score in enumerate(scores, start=1):
                scheduler.on_trial_result(cast(Any, None), past, {EPOCH: epoch, SCORE: score})
    return scheduler


class Past:
    """All that a scheduler wants to know of a trial of an earlier session."""

    def __init__(self, trial_id: str):
        self.trial_id = trial_id


def name_of(trial: Trial) -> str:
    """How a trial is called in messages."""
    return f"trial {trial.number}"


def _distribution(dimension: Range | Choice) -> optuna.distributions.BaseDistribution:
    if isinstance(dimension, Choice):
        return optuna.distributions.CategoricalDistribution(tuple(range(len(dimension.values))))
    low, high = dimension.ends()
    if dimension.whole:
        return optuna.distributions.IntDistribution(low, high, log=dimension.log)
    return optuna.distributions.FloatDistribution(low, high, log=dimension.log)
