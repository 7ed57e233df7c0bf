import threading
import time
from pathlib import Path

import pytest

from cellformer.experiments.running.jobs import Job
from cellformer.experiments.running.runner import Outcome, Sequential, reason
from cellformer.training.config import RunConfig
from cellformer.training.loop.preemption import TrainingInterrupted
from grids import summary_of


def jobs(tmp_path, *names):
    return [Job(RunConfig(), tmp_path / name) for name in names]


def test_every_job_is_reported_once_in_order_and_a_failure_does_not_stop_the_rest(tmp_path):
    def perform(job):
        if job.folder.name == "b":
            raise RuntimeError("no\nmemory")
        return summary_of(job.folder.name, 0.5)

    told = []
    Sequential(perform)(jobs(tmp_path, "a", "b", "c"), lambda *pair: told.append(pair))
    assert [job.folder.name for job, _ in told] == ["a", "b", "c"]
    assert [outcome.summary and outcome.summary.data.name for _, outcome in told] == [
        "a",
        None,
        "c",
    ]
    assert [outcome.error for _, outcome in told] == [None, "RuntimeError: no memory", None]
    assert all(outcome.seconds >= 0 for _, outcome in told)


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), TrainingInterrupted(Path("here"), 15)])
def test_being_stopped_from_outside_stops_all(tmp_path, stop):
    def perform(job):
        raise stop

    told = []
    with pytest.raises(type(stop)):
        Sequential(perform)(jobs(tmp_path, "a", "b"), lambda *pair: told.append(pair))
    assert told == []


def test_two_processes_share_the_jobs_and_do_each_once(tmp_path):
    given, trained = jobs(tmp_path, *"abcdef"), []
    both_there = threading.Barrier(2)

    def perform(job):
        result = job.folder / "result"
        if not result.exists():
            trained.append((threading.get_ident(), job.folder.name))
            if len(trained) <= 2:
                both_there.wait(10)
            time.sleep(0.02)
            result.write_text("done")
        return summary_of(job.folder.name, 0.5)

    told = {}

    def drive(name):
        told[name] = []
        Sequential(perform)(given, lambda job, _: told[name].append(job.folder.name))

    drivers = [threading.Thread(target=drive, args=[name]) for name in ("one", "other")]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join(30)
    assert sorted(name for _, name in trained) == list("abcdef")
    assert len({process for process, _ in trained}) == 2
    assert sorted(told["one"]) == sorted(told["other"]) == list("abcdef")


def test_an_outcome_is_either_a_result_or_an_error():
    for wrong in ((None, None), (summary_of("a", 0.5), "broken")):
        with pytest.raises(ValueError, match="either"):
            Outcome(*wrong, 0.0)


def test_a_refusal_needs_no_name_of_its_kind():
    assert reason(FileNotFoundError("zinc is not here")) == "zinc is not here"
    assert reason(ValueError()) == "ValueError"
    assert reason(MemoryError()) == "MemoryError"
