"""Stopping by a signal; what happens in several processes is in test_distributed.py."""

import csv
import os
import signal

import pytest
import torch
from safetensors.torch import load_file

from cellformer.training.loop.module import CellularModule
from cellformer.training.loop.preemption import TrainingInterrupted
from cellformer.training.train import resume, train
from tiny import with_training


@pytest.fixture(autouse=True)
def signals_are_heard():
    """A program that is started in the background of a shell ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stop_at(patch, name, call, number=signal.SIGTERM):
    """The process gets a signal within the so-manyth call of a method of the module."""
    method, calls = getattr(CellularModule, name), []

    def signaled(self, *arguments):
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), number)
        return method(self, *arguments)

    patch.setattr(CellularModule, name, signaled)


def weights_and_curve(folder):
    with (folder / "curve.csv").open() as file:
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
    return {which: load_file(folder / f"{which}.safetensors") for which in ("best", "last")}, rows


def test_a_training_killed_within_an_epoch_loses_only_what_came_after_its_last_state(
    tiny, tmp_path, monkeypatch
):
    tiny = with_training(tiny, epochs=3, state_minutes=1e-9)  # of 4 steps
    whole = train(with_training(tiny, state_minutes=10.0), tmp_path / "whole")
    steps, step = [], CellularModule.training_step

    class KilledError(BaseException):
        pass

    def killed(self, *arguments):
        steps.append(self.global_step)
        if steps == [0, 1, 2, 3, 4, 5, 6]:
            raise KilledError
        return step(self, *arguments)

    monkeypatch.setattr(CellularModule, "training_step", killed)
    with pytest.raises(KilledError):
        train(tiny, tmp_path / "killed")
    assert resume(tmp_path / "killed").scores == whole.scores
    assert steps == [0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11]
    for which in ("best", "last"):
        one, other = (load_file(tmp_path / f / f"{which}.safetensors") for f in ("whole", "killed"))
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_training_stopped_anywhere_ends_with_the_bits_of_one_that_was_not(
    tiny, tmp_path, monkeypatch
):
    tiny = with_training(tiny, epochs=3)  # of 4 steps
    whole = train(tiny, tmp_path / "whole")
    folder = tmp_path / "stopped"
    for name, call, number, epochs in (
        ("training_step", 2, signal.SIGTERM, 0),
        ("training_step", 1, signal.SIGUSR1, 0),  # the third one of the epoch
        ("training_step", 1, signal.SIGINT, 0),  # the last one of the epoch
        ("validation_step", 1, signal.SIGTERM, 0),  # the validation that follows
        ("training_step", 3, signal.SIGTERM, 1),
        ("on_validation_epoch_end", 1, signal.SIGTERM, 2),  # between two epochs
        ("validation_step", 1, signal.SIGTERM, 2),  # the last validation
    ):
        with monkeypatch.context() as patch:
            stop_at(patch, name, call, number)
            with pytest.raises(TrainingInterrupted) as stopped:
                resume(folder) if folder.exists() else train(tiny, folder)
        assert stopped.value.signal == number
        assert (folder / "curve.csv").exists() == (epochs > 0)
        if epochs:
            assert len(weights_and_curve(folder)[1]) == epochs
    assert resume(folder).scores == whole.scores
    (weights, curve), (others, other_curve) = map(weights_and_curve, (tmp_path / "whole", folder))
    assert curve == other_curve
    for which, tensors in weights.items():
        assert all(torch.equal(tensor, others[which][n]) for n, tensor in tensors.items())


def test_a_training_that_ended_early_is_not_gone_on_with(tiny, tmp_path):
    tiny = with_training(tiny, max_steps=5, epochs=9)
    whole = train(tiny, tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()  # killed just before it was there
    assert resume(tmp_path / "run").scores == whole.scores
    assert [row["step"] for row in weights_and_curve(tmp_path / "run")[1]] == ["4", "5"]
