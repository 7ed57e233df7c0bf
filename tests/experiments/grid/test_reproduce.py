import logging
import os
import signal
from dataclasses import asdict
from pathlib import Path

import pytest

from cellformer.experiments.grid.grid import Experiment, Grid, jobs_of
from cellformer.experiments.grid.reproduce import reproduce
from cellformer.experiments.running.jobs import Job
from cellformer.experiments.running.runner import Sequential
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.runs.run_folder import RunFolder, write_json
from grids import CURVE, summary_of

GRID = Grid(("gcb-hard",), ("general-sparse", "pairwise-sparse"), ("zeros", "bspe"), (0, 1))


class Fake:
    """In place of training; scores depend on what is trained alone."""

    def __init__(self, fails=(), stops_at=None, stop=None):
        self.performed = []
        self.fails, self.stops_at, self.stop = set(fails), stops_at, stop

    def __call__(self, job):
        name = Experiment.of(job.config).name
        if len(self.performed) == self.stops_at:
            self.stop()
        self.performed.append(name)
        if name in self.fails:
            raise RuntimeError("no memory")
        run = RunFolder(job.folder)
        write_json(run.config, asdict(job.config))
        run.curve.write_text(CURVE)
        summary = summary_of("gcb-hard", 0.7 + 0.001 * (sum(map(ord, name)) % 50))
        summary.write(run.path)
        return summary


def texts(folder):
    return {
        path.name: path.read_bytes()
        for path in (folder / "tables").iterdir()
        if path.suffix in (".md", ".tex", ".csv")
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    fake = Fake()
    tally = reproduce(jobs_of(GRID, {}, folder), folder, Sequential(fake))
    assert (tally.jobs, tally.before, tally.done, tally.failed) == (8, 0, 8, ())
    assert fake.performed == [each.name for each in GRID]
    return folder


def raise_interrupt():
    raise KeyboardInterrupt


def raise_training_interrupted():
    raise TrainingInterrupted(Path("here"), signal.SIGTERM)


def be_terminated():
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("stop", [raise_interrupt, raise_training_interrupted, be_terminated])
def test_interrupted_and_then_resumed_equals_uninterrupted(tmp_path, whole, stop):
    first = Fake(stops_at=3, stop=stop)
    with pytest.raises((KeyboardInterrupt, TrainingInterrupted)):
        reproduce(jobs_of(GRID, {}, tmp_path), tmp_path, Sequential(first))
    assert len(first.performed) == 3
    assert (tmp_path / "tables" / "full.md").exists()
    second = Fake()
    tally = reproduce(jobs_of(GRID, {}, tmp_path), tmp_path, Sequential(second))
    assert (tally.before, tally.done) == (3, 5)
    assert not set(first.performed) & set(second.performed)
    assert texts(tmp_path) == texts(whole)


def test_a_failure_is_in_the_tables_and_is_tried_again(tmp_path, whole, caplog):
    name = "gcb-hard/general-sparse/bspe/seed-1"
    with caplog.at_level(logging.INFO):
        tally = reproduce(jobs_of(GRID, {}, tmp_path), tmp_path, Sequential(Fake({name})))
    assert tally.failed == ((name, "RuntimeError: no memory"),)
    assert tally.done == 7
    assert f"[6 of 8] {name}: failed" in caplog.text
    text = (tmp_path / "tables" / "full.md").read_text()
    assert "(1 seed, failed [1])" in text
    assert "[1] RuntimeError: no memory" in text
    again = Fake()
    reproduce(jobs_of(GRID, {}, tmp_path), tmp_path, Sequential(again))
    assert again.performed == [name]
    assert texts(tmp_path) == texts(whole)


def test_tables_are_there_after_every_training(tmp_path):
    class Looking(Fake):
        def __call__(self, job):
            table = tmp_path / "tables" / "full.csv"
            found = len(table.read_text().splitlines()) - 1 if table.exists() else 0
            assert found == min(len(self.performed), 4)
            return super().__call__(job)

    tally = reproduce(jobs_of(GRID, {}, tmp_path), tmp_path, Sequential(Looking()))
    assert tally.failed == ()


def test_all_done_runs_nothing(whole):
    def refuse(job):
        raise AssertionError("nothing is missing")

    tally = reproduce(jobs_of(GRID, {}, whole), whole, Sequential(refuse))
    assert (tally.before, tally.done) == (8, 0)


def test_a_grid_of_real_trainings_goes_on_within_a_run(tiny, tmp_path):
    """One training is stopped after its first epoch; the end is that of an uninterrupted one."""
    from cellformer.training.train import train
    from tiny import with_training

    tiny = with_training(tiny, epochs=2)
    jobs = {name: Job(tiny, tmp_path / name / "d/a/e/seed-0") for name in ("whole", "half")}
    reproduce([jobs["whole"]], tmp_path / "whole", Sequential())
    train(tiny, jobs["half"].folder, stop_after=1)
    (jobs["half"].folder / "summary.json").unlink()
    reproduce([jobs["half"]], tmp_path / "half", Sequential())
    assert texts(tmp_path / "half")["full.csv"] == texts(tmp_path / "whole")["full.csv"]
