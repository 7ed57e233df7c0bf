import io
import logging
import re

import lightning.pytorch as pl
import pytest
import torch
from rich.console import Console

from cellformer.basics import progress as progress_module
from cellformer.training.loop import bars as shown
from cellformer.training.loop.bars import predicting
from cellformer.training.loop.display import EpochBar, EpochLines
from cellformer.training.train import train
from tiny import with_training

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def trainer_at(epoch, step):
    """One that stands there, with nothing else about it."""
    told = {
        "current_epoch": epoch, "max_epochs": 3, "num_training_batches": 2, "global_step": step,
        "callback_metrics": {"train_loss": torch.tensor(0.5), "val_mae": torch.tensor(7.25)},
    }  # fmt: skip
    return object.__new__(type("Standing", (pl.Trainer,), told))


MODULE = pl.LightningModule()


@pytest.fixture
def terminal(monkeypatch):
    """What a terminal is sent."""
    sent = io.StringIO()

    def console(**options):
        return Console(file=sent, force_terminal=True, width=100, highlight=False)

    monkeypatch.setattr(shown, "Console", console)
    monkeypatch.setattr("rich.console.Console", console)
    return sent


def test_a_log_has_the_last_epoch_also_where_training_ends_early(tiny, tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        train(with_training(tiny, epochs=9, max_steps=10), tmp_path / "run")
    lines = [line for line in caplog.messages if line.startswith("epoch ")]
    assert lines[0].startswith("epoch 1 of 9: training loss ")
    assert lines[-1].startswith("epoch 3 of 9: training loss ")
    assert re.search(r"validation mae \d+\.\d{4}, ", lines[-1])


def test_a_bar_counts_epochs_from_one_says_what_validates_and_leaves_one_line(terminal, caplog):
    bar = EpochBar("mae", " of the cells alone")
    with caplog.at_level(logging.INFO):
        bar.on_train_start(trainer_at(0, 0), MODULE)
        for epoch in range(3):
            for step in range(2):
                bar.on_train_batch_end(
                    trainer_at(epoch, 2 * epoch + step + 1), MODULE, None, None, 0
                )
            bar.on_train_epoch_end(trainer_at(epoch, 2 * epoch + 2), MODULE)
            bar.bar.refresh()
            assert f"epoch {epoch + 1} of 3" in terminal.getvalue()
        bar.on_train_end(trainer_at(3, 6), MODULE)
    assert "validation mae 7.25 of the cells alone" in terminal.getvalue()
    assert "v_num" not in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # the bar is gone
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("epoch 3 of 3: training loss 0.5000, validation mae 7.25")


def test_a_bar_begins_where_training_goes_on_and_goes_away_where_it_fails(terminal, caplog):
    bar = EpochBar("mae")
    bar.on_train_start(trainer_at(2, 4), MODULE)
    assert bar.bar.tasks[0].completed == 4
    assert bar.bar.tasks[0].total == 6
    bar.on_exception(trainer_at(2, 4), MODULE, ValueError())
    assert not bar.bar.live.is_started


def test_predictions_of_several_batches_have_a_bar_that_goes_away(terminal):
    assert list(predicting(range(1), 1)) == [0]
    assert not terminal.getvalue()
    assert list(predicting(range(4), 4)) == [0, 1, 2, 3]
    assert "4/4" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")


def test_predictions_that_are_a_part_of_other_work_have_no_bar(terminal):
    with progress_module.progress("Predicting set", 4, whole=True):
        told = len(terminal.getvalue())
        assert list(predicting(range(4), 4)) == [0, 1, 2, 3]
        assert "Predicting\x1b" not in terminal.getvalue()[told:]


def test_lines_wait_until_some_time_has_passed(caplog):
    lines = EpochLines("mae")
    with caplog.at_level(logging.INFO):
        for epoch in range(3):
            lines.on_train_epoch_end(trainer_at(epoch, 0), MODULE)
        lines.on_train_end(trainer_at(3, 0), MODULE)
        lines.on_train_end(trainer_at(3, 0), MODULE)
    assert [line.split(":")[0] for line in caplog.messages] == ["epoch 1 of 3", "epoch 3 of 3"]


def test_the_bar_of_other_work_is_replaced_by_the_line_that_a_log_gets(terminal):
    with progress_module.progress("Preparing set", 10) as count:
        count(10)
    last = ESCAPES.sub("", terminal.getvalue()).splitlines()[-1]
    assert re.match(r"Preparing set: done in \d+\.\d s \([\d,]+ items/s\)$", last)
