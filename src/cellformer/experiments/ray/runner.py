"""Trainings spread over a Ray cluster, one per slot of cores or GPUs."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cellformer.experiments.ray.carrying import Asker, at_work
from cellformer.experiments.ray.cluster import LOCAL, Connection, connected, machine_needed
from cellformer.experiments.ray.places import meeting_place, whereabouts
from cellformer.experiments.running.jobs import Job
from cellformer.experiments.running.progress_display import ProgressDisplay, progress_display
from cellformer.experiments.running.runner import Outcome, Report, reason
from cellformer.training.loop.preemption import TrainingInterrupted

SECONDS_TO_STOP = 30.0
"""How long trainings may take to end when they are told to."""


class StoppedError(RuntimeError):
    """A worker was told to end by someone other than the runner, such as a machine going down."""


@dataclass(frozen=True)
class RayRunner:
    """Runs each job on a worker of a cluster; a `Runner`.

    Where a machine does not see the run folders, their files come and go through Ray. A job whose
    worker or machine is lost goes on from its checkpoint on another one, up to ``retries`` times.
    Stopped by Ctrl-C or SIGTERM, it tells the workers, which leave what they have to resume from.
    """

    address: str = LOCAL
    """``local``, or the address of a cluster."""
    cpus: float = 1.0
    """Cores of a slot, and threads of its worker."""
    gpus: float = 0.0
    """GPUs of a slot; a part of one lets several slots share it."""
    retries: int = 3
    """How often a job is tried again whose worker was lost."""
    folder: Path | None = None
    """Where it meets its workers: one that holds all run folders, the deepest unless it is told."""

    def __call__(self, jobs: Sequence[Job], report: Report) -> None:
        """Raises as `connected` and its checks do, and KeyboardInterrupt when stopped."""
        if not jobs:
            return
        parents = [job.folder.absolute().parent for job in jobs]
        root = self.folder or Path(os.path.commonpath(parents))
        with (
            connected(self.address, self.cpus, self.gpus) as connection,
            meeting_place(root) as place,
            progress_display("Trainings", len(jobs)) as shown,
        ):
            self._run(jobs, report, place, shown, connection)

    def _run(
        self,
        jobs: Sequence[Job],
        report: Report,
        place: Path,
        shown: ProgressDisplay,
        connection: Connection,
    ) -> None:
        import ray

        work = ray.remote(_perform).options(
            num_cpus=self.cpus,
            num_gpus=self.gpus,
            max_retries=self.retries,
            retry_exceptions=[StoppedError],
        )
        names = [os.path.relpath(job.folder, place.parent) for job in jobs]
        asker = Asker(place, connection.machine, os.getcwd())
        running = {
            work.remote(replace(job, folder=job.folder.absolute()), asker, str(n)): n
            for n, job in enumerate(jobs)
        }
        starts: dict[int, str] = {}
        began = time.monotonic()
        try:
            while running:
                ended, _ = ray.wait(list(running), timeout=1.0)
                connection.check()
                for n in running.values():
                    where = whereabouts(place, str(n))
                    if where is not None and starts.get(n) != where:
                        starts[n] = where
                        shown.started(
                            names[n], where, jobs[n].folder, jobs[n].config.training.fixed_epochs
                        )
                for ref in ended:
                    n = running.pop(ref)
                    shown.finished(names[n])
                    report(jobs[n], self._outcome(ref, began))
                shown.refresh()
        finally:
            _stop(list(running))

    def _outcome(self, ref: Any, began: float) -> Outcome:
        import ray

        try:
            with machine_needed():
                outcome: Outcome = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            return Outcome(None, reason(error.cause)[:500], time.monotonic() - began)
        except ray.exceptions.RayError as error:
            told = f"lost {self.retries + 1} times with its worker: {reason(error)[:300]}"
            return Outcome(None, told, time.monotonic() - began)
        return outcome


def _stop(running: list[Any]) -> None:
    import ray

    for ref in running:
        ray.cancel(ref)
    if running:
        ray.wait(running, num_returns=len(running), timeout=SECONDS_TO_STOP)


def _perform(job: Job, asker: Asker, name: str) -> Outcome:
    """What a worker does."""
    began = time.monotonic()
    try:
        with at_work(asker, name, job.folder) as work:
            summary = replace(job, folder=work.folder).perform(work.callbacks)
    except TrainingInterrupted as error:
        raise StoppedError(str(error)) from error
    except Exception as error:  # is the job's outcome, whatever it was
        return Outcome(None, reason(error), time.monotonic() - began)
    return Outcome(summary, None, time.monotonic() - began)
