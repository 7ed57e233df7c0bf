"""Search for a good configuration: Ray Tune with Optuna's sampler and early stopping by ASHA."""

import logging
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

from cellformer.basics.checks import at_least, positive
from cellformer.basics.stopping import StopRequests
from cellformer.experiments.ray.carrying import Asker
from cellformer.experiments.ray.cluster import LOCAL, connected, require_ray
from cellformer.experiments.ray.places import meeting_place
from cellformer.experiments.running.progress_display import progress_display
from cellformer.experiments.search.folder import SearchFolder, Trial, best_of, described
from cellformer.experiments.search.space import SearchSpace
from cellformer.training.config import RunConfig
from cellformer.training.loop.metrics import higher_is_better
from cellformer.training.loop.schedule import AUTO_EPOCHS
from cellformer.training.materials.materials import gather

logger = logging.getLogger(__name__)

QUIET = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_THRESHOLD_S": "60",
}


@dataclass(frozen=True)
class Tuner:
    """How a search is run."""

    trials: int = 20
    """Trainings in all, those of earlier sessions included."""
    minutes: float | None = None
    """Time for this session; what is running then is gone on with in the next one."""
    address: str = LOCAL
    """``local``, or the address of a Ray cluster."""
    cpus: float = 1.0
    """Cores of a trial, and threads of its worker."""
    gpus: float = 0.0
    """GPUs of a trial."""
    retries: int = 3
    """How often a trial goes on whose worker was lost."""
    grace: int = 1
    """Epochs before which no trial is stopped early."""
    reduction: float = 3.0
    """One of so many trials goes on at each of ASHA's rungs."""
    seed: int = 0
    """Seed of the sampler."""

    def __post_init__(self) -> None:
        at_least(1, trials=self.trials, grace=self.grace)
        at_least(0, retries=self.retries)
        if self.reduction <= 1:
            raise ValueError(f"reduction must be above 1, got {self.reduction}")
        if self.minutes is not None:
            positive(minutes=self.minutes)

    def __call__(self, base: RunConfig, space: SearchSpace, path: Path) -> "Found":
        """Searches for the values with the best validation score, and returns all trials.

        The first trial has the values of ``base``, if they lie in the space. Called again with the
        same folder, it goes on. Raises ValueError where the folder holds another search,
        KeyboardInterrupt when stopped, and what `connected` and `gather` raise.
        """
        require_ray()  # before data are prepared in vain
        folder = SearchFolder(path)
        folder.open(base, space)
        metric = gather(base.data).task.metric  # prepared once, before many ask for it
        higher = higher_is_better(metric)
        known = folder.trials()
        if len(known) < self.trials or any(trial.state == "running" for trial in known):
            self._search(base, space, folder, metric, higher)
        return Found(folder, metric, higher, folder.trials())

    def _search(
        self, base: RunConfig, space: SearchSpace, folder: SearchFolder, metric: str, higher: bool
    ) -> None:
        os.environ.update(QUIET)  # read by Ray Tune
        with (
            connected(self.address, self.cpus, self.gpus) as connection,
            meeting_place(folder.path) as place,
            StopRequests() as requests,
        ):
            import optuna
            from ray import tune as ray_tune

            from cellformer.experiments.search import ray_tune as parts

            optuna.logging.set_verbosity(optuna.logging.WARNING)
            logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # what is lost is told by us
            asker = Asker(place, connection.machine, os.getcwd())
            seconds = math.inf if self.minutes is None else 60 * self.minutes
            with progress_display("Trials", self.trials) as shown:
                searcher = parts.OptunaTrials(
                    folder, base, space, self.trials, self.seed, metric, higher,
                    time.monotonic() + seconds, asker, shown,
                )  # fmt: skip
                shown.ended = sum(t.state != "running" for t in searcher.trials.values())
                epochs = space.dimensions.get("training.epochs")
                fixed = base.training.fixed_epochs or AUTO_EPOCHS[1]
                longest = max(epochs.ends()) if epochs else fixed
                tuner = ray_tune.Tuner(
                    ray_tune.with_resources(parts.perform, {"cpu": self.cpus, "gpu": self.gpus}),
                    tune_config=ray_tune.TuneConfig(
                        search_alg=searcher,
                        scheduler=parts.halving(searcher, longest, self.grace, self.reduction),
                        num_samples=-1,  # the searcher says when it is enough
                        time_budget_s=None if self.minutes is None else seconds,
                        reuse_actors=True,
                    ),
                    run_config=ray_tune.RunConfig(
                        # Ray's own records, never read again; where all machines see them.
                        storage_path=str(place / "tune"),
                        failure_config=ray_tune.FailureConfig(max_failures=self.retries),
                        callbacks=[parts.Watch(searcher, requests, connection)],
                        verbose=0,
                    ),
                )
                tuner.fit()
                requests.check()


@dataclass(frozen=True)
class Found:
    """What a search has found so far."""

    folder: SearchFolder
    metric: str
    higher: bool
    trials: list[Trial]

    @property
    def best(self) -> Trial | None:
        """The trial with the best validation score; None where none has any."""
        return best_of(self.trials, self.higher)

    def told(self, most: int = 10) -> list[str]:
        """The best trials and where the files are, in lines."""
        sign = -1 if self.higher else 1
        scored = [trial for trial in self.trials if trial.score is not None]
        scored.sort(key=lambda trial: (sign * (trial.score or 0.0), trial.number))
        counts = {state: sum(trial.state == state for trial in self.trials)
                  for state in ("finished", "stopped", "failed", "running")}  # fmt: skip
        lines = [
            f"{len(self.trials)} trials: {counts['finished']} finished, "
            f"{counts['stopped']} stopped early, {counts['failed']} failed, "
            f"{counts['running']} to be gone on with"
        ]
        lines += [
            f"trial {trial.number:3d}: validation {self.metric} {trial.score:.4f} after "
            f"{trial.epochs} epochs, {trial.state}; {described(trial.values)}"
            for trial in scored[:most]
        ]
        if scored:
            lines.append(
                f"Train with the best values: cellformer train --config {self.folder.best}"
            )
        failed = [trial for trial in self.trials if trial.state == "failed"]
        if failed:
            lines.append(f"trial {failed[0].number} failed, for example: {failed[0].error}")
        lines.append(f"All trials are in {self.folder.table}, their runs beside it")
        return lines
