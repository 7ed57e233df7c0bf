"""How a list of trainings is run: one after the other here, or by a runner of another kind."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cellformer.experiments.running.jobs import Job
from cellformer.experiments.running.lock import locked
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.runs.summary import Summary

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """How a job ended: with a result, or with an error in its place."""

    summary: Summary | None
    """The result, as in ``summary.json``; None where there is an error."""
    error: str | None
    """The reason why there is no result; None where there is one."""
    seconds: float
    """Wall time that was spent on it this time."""

    def __post_init__(self) -> None:
        if (self.summary is None) == (self.error is None):
            raise ValueError("an outcome has either a summary or an error")


Report = Callable[[Job, Outcome], None]


@runtime_checkable
class Runner(Protocol):
    """Runs jobs, in any order and at any place.

    ``report`` is told of every job once, in the calling process, as the job ends. A job that fails
    never stops the others; being stopped from outside does.
    """

    def __call__(self, jobs: Sequence[Job], report: Report) -> None:
        """Returns when all jobs have ended."""


@dataclass(frozen=True)
class Sequential:
    """One job after the other in this process, in the order given.

    Jobs that another process is at come last, and are waited for: several processes may be given
    the same jobs, on one machine or on many that share the files, and do each of them once.
    """

    perform: Callable[[Job], Summary] = Job.perform
    """What a job is; for tests."""

    def __call__(self, jobs: Sequence[Job], report: Report) -> None:
        """Raises `TrainingInterrupted` or KeyboardInterrupt where it is stopped from outside."""
        elsewhere = [job for job in jobs if not self._run(job, report, wait=False)]
        if elsewhere:
            logger.info("%d trainings are at work elsewhere; waiting for them", len(elsewhere))
        for job in elsewhere:
            self._run(job, report, wait=True)

    def _run(self, job: Job, report: Report, wait: bool) -> bool:
        """Whether it could be done."""
        with locked(job.folder, wait) as mine:
            if mine:
                report(job, self._outcome(job))
        return mine

    def _outcome(self, job: Job) -> Outcome:
        began = time.monotonic()
        try:
            summary = self.perform(job)
        except TrainingInterrupted:
            raise
        except Exception as error:  # a failed job must not stop the others, whatever it was
            logger.debug("%s failed", job.folder, exc_info=True)
            return Outcome(None, reason(error), time.monotonic() - began)
        return Outcome(summary, None, time.monotonic() - began)


def reason(error: BaseException) -> str:
    """One line that says what went wrong; the kind of error where it is not a plain refusal."""
    told = " ".join(str(error).split())
    refusal = isinstance(error, ValueError | OSError | ImportError)
    return told if refusal and told else f"{type(error).__name__}: {told}".removesuffix(": ")
