"""A run that is trained on for more epochs than it was begun with."""

import json

import lightning.pytorch as pl
import pytest
import torch
from safetensors.torch import load_file

from cellformer.cli.main import main
from cellformer.training.loop.checkpoints import Checkpoints
from cellformer.training.loop.schedule import warmup_cosine
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.train import resume, train
from tiny import with_training


@pytest.fixture
def tiny(tiny):
    return with_training(tiny, keep_state=True)


class Rates(pl.Callback):
    """The rate of every step."""

    def __init__(self):
        self.told = {}

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        self.told[trainer.global_step] = optimizer.param_groups[0]["lr"]


def curve_lines(folder):
    return (folder / "curve.csv").read_text().splitlines()


def test_it_goes_on_with_the_schedule_of_all_epochs(tiny, tmp_path):
    short = with_training(tiny, epochs=2)
    train(short, tmp_path / "run")
    before = curve_lines(tmp_path / "run")
    rates = Rates()
    summary = resume(tmp_path / "run", callbacks=[rates], epochs=5)
    assert summary.epochs == 5
    assert curve_lines(tmp_path / "run")[:3] == before
    steps = 5 * len(rates.told) // 3
    assert min(rates.told) == 2 * len(rates.told) // 3
    for step, rate in rates.told.items():
        expected = short.optimizer.peak_rate * warmup_cosine(step, steps, short.optimizer.warmup)
        assert rate == pytest.approx(expected, rel=1e-12)
    assert json.loads((tmp_path / "run" / "config.json").read_text())["training"]["epochs"] == 5


def test_states_that_do_not_say_their_steps_go_on_too(tiny, tmp_path, monkeypatch):
    told = Checkpoints.state_dict
    with monkeypatch.context() as patch:
        patch.setattr(
            Checkpoints,
            "state_dict",
            lambda self: {k: v for k, v in told(self).items() if k != "planned"},
        )
        train(with_training(tiny, epochs=1), tmp_path / "run")
    assert resume(tmp_path / "run", epochs=2).epochs == 2


def test_a_training_that_was_stopped_early_goes_on_too(tiny, tmp_path):
    train(with_training(tiny, epochs=40, patience=1), tmp_path / "run")
    done = len(curve_lines(tmp_path / "run")) - 1
    assert done < 40
    assert resume(tmp_path / "run", epochs=41).epochs > done


def test_an_interruption_of_the_further_epochs_changes_no_bit(tiny, tmp_path):
    for name in ("whole", "halves"):
        train(with_training(tiny, epochs=2), tmp_path / name)
    resume(tmp_path / "whole", epochs=4)
    resume(tmp_path / "halves", stop_after=3, epochs=4)
    RunFolder(tmp_path / "halves").summary.unlink()
    resume(tmp_path / "halves", epochs=4)
    one, other = (load_file(tmp_path / name / "last.safetensors") for name in ("whole", "halves"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_cannot_be_gone_on_with_is_told(tiny, tmp_path):
    folder = tmp_path / "run"
    train(with_training(tiny, epochs=2), folder)
    with pytest.raises(
        ValueError, match=r"laid out for 2 epochs, so training\.epochs must be more"
    ):
        resume(folder, epochs=1)
    assert resume(folder, epochs=2).epochs == 2
    for file in ("resume.ckpt", "resume-before.ckpt"):
        (folder / file).rename(folder / f"{file}.away")
    with pytest.raises(ValueError, match=r"holds no resume\.ckpt to go on from"):
        resume(folder, epochs=3)
    assert (folder / "summary.json").exists()
    train(with_training(tiny, epochs=2, max_steps=3), tmp_path / "limited")
    with pytest.raises(ValueError, match=r"ends after 3 steps \(training\.max_steps\)"):
        resume(tmp_path / "limited", epochs=3)


def test_the_command_goes_on_to_more_epochs_and_takes_nothing_else(tiny, tmp_path, capsys):
    train(with_training(tiny, epochs=1), tmp_path / "run")
    command = ["train", "--resume", str(tmp_path / "run")]
    for words, name in (
        (["--training.epochs", "3", "--training.batch_size", "5"], "training.batch_size"),
        (["--target", "y"], "data.target"),
        (["--preset", "zinc"], "preset"),
        (["--ensemble", "3"], "ensemble"),
    ):
        assert main([*command, *words]) == 1
        assert f"so --{name} is of no use" in capsys.readouterr().err
    assert main([*command, "--training.epochs", "3"]) == 0
    assert "Everything about this run is in" in capsys.readouterr().out
    assert len(curve_lines(tmp_path / "run")) == 4
    assert (tmp_path / "run" / "report.html").exists()


def test_all_models_of_an_ensemble_go_on(tiny, tmp_path):
    from cellformer.training.several import resume_several, train_ensemble

    train_ensemble(with_training(tiny, epochs=1), tmp_path / "both", 2)
    summary = resume_several(tmp_path / "both", epochs=2)
    assert len(summary.members) == 2
    for name in summary.members:
        assert len(curve_lines(tmp_path / "both" / name)) == 3
