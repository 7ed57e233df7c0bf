"""Run what is missing of a grid, and keep its tables up to date."""

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cellformer.basics.owners import clear_once
from cellformer.basics.stopping import StopRequests
from cellformer.experiments.grid.grid import Experiment
from cellformer.experiments.grid.results import note_failure
from cellformer.experiments.grid.write_tables import write_tables
from cellformer.experiments.running.jobs import Job
from cellformer.experiments.running.runner import Outcome, Runner
from cellformer.training.answers.summary import shown
from cellformer.training.estimating.words import time_text

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_PICTURES = 60.0


@dataclass(frozen=True)
class Tally:
    """How many trainings there are, and how they ended."""

    jobs: int
    before: int
    """Finished before this call."""
    done: int
    """Finished in it."""
    failed: tuple[tuple[str, str], ...]
    """Name and reason of those that failed in it."""


def reproduce(jobs: Sequence[Job], folder: str | os.PathLike[str], runner: Runner) -> Tally:
    """Runs the jobs that are not finished, and rewrites the tables after each.

    A job that fails is noted in its folder and in the tables, and tried again by the next call.
    Raises KeyboardInterrupt or `TrainingInterrupted` where it is stopped from outside, with the
    tables up to date.
    """
    missing = [job for job in jobs if not job.finished]
    before = len(jobs) - len(missing)
    logger.info("%d trainings, of which %d are finished", len(jobs), before)
    done, failed = 0, list[tuple[str, str]]()
    pictures_at = time.monotonic()

    def report(job: Job, outcome: Outcome) -> None:
        nonlocal done, pictures_at
        name = Experiment.of(job.config).name
        note_failure(job.folder, job.config, outcome.error)
        if outcome.error is None:
            done += 1
        else:
            failed.append((name, outcome.error))
        ended = before + done + len(failed)
        logger.info("[%d of %d] %s: %s", ended, len(jobs), name, told(outcome))
        late = time.monotonic() - pictures_at > SECONDS_BETWEEN_PICTURES
        write_tables(folder, pictures=late)
        pictures_at = time.monotonic() if late else pictures_at
        requests.check()

    clear_once(Path(folder))
    with StopRequests() as requests:
        if missing:
            runner(missing, report)
        write_tables(folder)
    return Tally(len(jobs), before, done, tuple(failed))


def told(outcome: Outcome) -> str:
    """An outcome in a few words."""
    if outcome.summary is None:
        return f"failed after {time_text(outcome.seconds)}: {outcome.error}"
    metric = outcome.summary.metric
    words = (
        f"{part} {metric} {shown(values[metric])}"
        for part, values in outcome.summary.reported.items()
    )
    return f"{', '.join(words)}, in {time_text(outcome.seconds)}"
