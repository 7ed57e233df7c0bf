"""Where the numbers of a training are told while it runs: Lightning's own loggers."""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.loggers import (
    CSVLogger,
    Logger,
    MLFlowLogger,
    TensorBoardLogger,
    WandbLogger,
)

from cellformer.basics.archives import one_line
from cellformer.basics.causes import raise_of_process
from cellformer.training.config import TrainingConfig
from cellformer.training.runs.summary import Summary

PACKAGES = ("wandb", "mlflow")
"""Loggers that are packages of their own, which are not installed with this one."""


def check_logger(config: TrainingConfig) -> None:
    """Raises ValueError where the logger's package is not installed, or has nowhere to go."""
    name = config.logger
    if name in PACKAGES and find_spec(name) is None:
        raise ValueError(f"training.logger={name} needs a package: pip install {name}")
    if name == "mlflow" and not os.environ.get("MLFLOW_TRACKING_URI"):
        raise ValueError(
            "training.logger=mlflow: say where runs are kept by the environment variable "
            "MLFLOW_TRACKING_URI, such as http://localhost:5000 or sqlite:///mlflow.db"
        )


def logger_of(
    config: TrainingConfig, folder: Path, hyperparameters: Mapping[str, Any]
) -> Logger | None:
    """The logger, which has been told the configuration; None where there is to be none.

    W&B and MLflow go where their own environment variables say. Raises ValueError where that
    cannot be reached.
    """
    if config.logger == "none":
        return None
    try:
        made = _made(config, folder)
        made.log_hyperparams(dict(hyperparameters))
    except Exception as error:
        raise_of_process(error)
        if config.logger not in PACKAGES:
            raise
        raise ValueError(
            f"training.logger={config.logger} cannot begin ({one_line(error)}); once it can, go on "
            f"by --resume {folder}"
        ) from error
    return made


def _made(config: TrainingConfig, folder: Path) -> Logger:
    made: Logger
    if config.logger == "tensorboard":
        made = TensorBoardLogger(folder, name="", version="tensorboard", default_hp_metric=False)
    elif config.logger == "csv":
        made = CSVLogger(folder, name="", version="csv")
    elif config.logger == "wandb":
        made = WandbLogger(name=folder.name, save_dir=folder)
    else:
        where = os.environ["MLFLOW_TRACKING_URI"]
        made = MLFlowLogger("cellformer", folder.name, where)
    return made


def tell_result(
    logger: Logger | None, hyperparameters: Mapping[str, Any], summary: Summary
) -> None:
    """Tells the scores of the best epoch on the validation and test parts, and ends the logging."""
    if logger is None:
        return
    scores = {
        f"best_{part}_{metric}": value
        for part, values in summary.reported.items()
        for metric, value in values.items()
        if value is not None
    }
    if isinstance(logger, TensorBoardLogger):
        logger.log_hyperparams(dict(hyperparameters), scores)  # a line of its table of runs
    else:
        logger.log_metrics(scores, summary.epochs)
    logger.save()
    logger.finalize("success")
    if isinstance(logger, WandbLogger):
        logger.experiment.finish()  # or the next model of an ensemble would go on with it


class LearningRate(pl.Callback):
    """Tells the logger the learning rate of every step."""

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        """The rate that the next step takes."""
        rate = float(trainer.optimizers[0].param_groups[0]["lr"])
        for logger in trainer.loggers:
            logger.log_metrics({"learning_rate": rate}, trainer.global_step)
