import sys
import types

import pandas as pd
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cellformer.training.config import TrainingConfig
from cellformer.training.loop.loggers import check_logger, logger_of
from cellformer.training.train import train
from tiny import with_training


def test_a_csv_is_told_losses_scores_and_rates_and_at_the_end_the_test(tiny, tmp_path):
    summary = train(with_training(tiny, epochs=2, logger="csv"), tmp_path / "run")
    told = pd.read_csv(tmp_path / "run" / "csv" / "metrics.csv")
    assert told["learning_rate"].notna().sum() == 8
    assert told["val_mae"].notna().sum() == 2
    assert told["best_test_mae"].dropna().tolist() == [pytest.approx(summary.score("test"))]
    parameters = (tmp_path / "run" / "csv" / "hparams.yaml").read_text("utf-8")
    assert "peak_rate: 0.01" in parameters
    assert not (tmp_path / "run" / "tensorboard").exists()


def test_tensorboard_has_rates_hyperparameters_and_the_test(tiny, tmp_path):
    summary = train(with_training(tiny, epochs=1), tmp_path / "run")
    found = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    found.Reload()
    assert len(found.Scalars("learning_rate")) == 4
    assert found.Scalars("best_test_mae")[-1].value == pytest.approx(summary.score("test"))
    assert "_hparams_/session_start_info" in found.summary_metadata


def test_none_leaves_the_curve_alone(tiny, tmp_path):
    train(with_training(tiny, epochs=1, logger="none"), tmp_path / "run")
    folders = [path.name for path in (tmp_path / "run").iterdir() if path.is_dir()]
    assert folders == []
    assert (tmp_path / "run" / "curve.csv").exists()


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_service_whose_package_is_missing_is_refused_before_a_folder_is_made(
    name, tiny, tmp_path, monkeypatch
):
    monkeypatch.setattr("cellformer.training.loop.loggers.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=f"needs a package: pip install {name}"):
        train(with_training(tiny, logger=name), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    monkeypatch.undo()
    module = types.ModuleType(name)
    module.__spec__ = types.SimpleNamespace(name=name)
    monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///runs.db")
    check_logger(TrainingConfig(logger=name))
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    if name == "mlflow":
        with pytest.raises(ValueError, match=r"say where runs are kept .*MLFLOW_TRACKING_URI"):
            check_logger(TrainingConfig(logger=name))


def test_a_service_that_cannot_be_reached_is_one_line(tmp_path, monkeypatch):
    def unreachable(*given, **named):
        raise RuntimeError("no answer\nfrom there")

    monkeypatch.setattr("cellformer.training.loop.loggers.WandbLogger", unreachable)
    with pytest.raises(ValueError, match=r"cannot begin \(RuntimeError: no answer\).*--resume"):
        logger_of(TrainingConfig(logger="wandb"), tmp_path / "run", {})
