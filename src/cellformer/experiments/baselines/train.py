"""Train a network to compare with, as our models are trained."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cellformer.basics.decoding import decoded
from cellformer.basics.sealed import read_sealed
from cellformer.basics.stopping import StopRequests
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.experiments.baselines.config import BaselineConfig
from cellformer.experiments.baselines.inputs import GraphData
from cellformer.experiments.baselines.module import BaselineModule
from cellformer.experiments.baselines.networks import network_of
from cellformer.model.config import DataShape
from cellformer.model.embedding.feature_scaling import standardize_features
from cellformer.model.embedding.unseen import silence_unseen
from cellformer.training.answers.predictor import Predictor, outputs_of
from cellformer.training.answers.summary import Answer, finish, outputs_of_weights, summary_of
from cellformer.training.loop.devices import check_device
from cellformer.training.loop.fit import check_loss, fit, training_weights
from cellformer.training.loop.loggers import check_logger, logger_of, tell_result
from cellformer.training.loop.states import leave_no_state
from cellformer.training.materials.materials import Materials, gather
from cellformer.training.processes.session import session
from cellformer.training.runs.recipe import scaling_of
from cellformer.training.runs.run_folder import RunFolder, write_json
from cellformer.training.runs.summary import Summary
from cellformer.training.runs.weights import load_weights


def train_baseline(config: BaselineConfig, path: Path) -> Summary:
    """Trains into a folder and returns the result; goes on, or reads it, where one is begun.

    The data, the split, the optimizer with its schedule, the choice of the best epoch and the
    scores are those of `train`. Such a folder keeps configuration, curve, weights, summary and
    predictions, but does not predict. Raises ValueError if the folder holds anything else, and as
    `train` does.
    """
    folder = RunFolder(path)
    values = {"baseline": type(config.model).__name__, **dataclasses.asdict(config)}
    if folder.config.exists():
        if not _is_of(config, read_sealed(folder.config), str(folder.config)):
            raise ValueError(f"{path} holds another run; choose another folder")
        if folder.summary.exists():
            return Summary.read(folder.path)
    check_device(config.training)
    check_logger(config.training)
    with session(config.training, path) as (world, requests):
        if world.size > 1:
            raise ValueError("networks to compare with are trained by one process")
        materials = gather(dataclasses.replace(config.data, molecule_descriptors="none"))
        shape = _describe(materials)
        check_loss(materials.task, config.training, materials)
        folder.path.mkdir(parents=True, exist_ok=True)
        write_json(folder.config, values)
        return _run(config, folder, materials, shape, requests)


def _is_of(config: BaselineConfig, kept: Any, where: str) -> bool:
    """Whether a folder holds this training; fields that are newer than it have their defaults."""
    if not isinstance(kept, dict) or kept.get("baseline") != type(config.model).__name__:
        return False
    return all(
        decoded(type(part), kept.get(name), where, partial=True) == part
        for name, part in vars(config).items()
    )


def open_baseline(config: BaselineConfig, path: Path, materials: Materials) -> Predictor:
    """The network of a finished training, with its best weights; the materials are those of it."""
    module = _module(config, materials, _describe(materials))
    load_weights(RunFolder(path).weights("best"), module.model)
    return Predictor(module.model, module.task, module.scaling)


def _module(config: BaselineConfig, materials: Materials, shape: GraphData) -> BaselineModule:
    torch.manual_seed(config.training.seed)
    model = network_of(config.model, shape)
    standardize_features(model, materials.complexes, materials.split["train"])
    silence_unseen(model, materials.complexes, materials.split["train"])
    return BaselineModule(
        model,
        materials.task,
        scaling_of(materials, config.training),
        config.training.loss,
        config.optimizer,
        seed=config.training.seed,
        class_weights=training_weights(materials.task, config.training, materials),
    )


def _run(
    config: BaselineConfig,
    folder: RunFolder,
    materials: Materials,
    shape: GraphData,
    requests: StopRequests,
) -> Summary:
    module = _module(config, materials, shape)
    told = dataclasses.asdict(config)
    log = logger_of(config.training, folder.path, told)
    checkpoints = fit(
        module,
        config.training,
        folder,
        materials,
        materials.complexes,
        requests,
        logger_told=log,
    )

    predictor = Predictor(module.model, module.task, module.scaling)

    def opened(which: str) -> Answer:
        load_weights(folder.weights(which), module.model)
        return partial(outputs_of, predictor, config.training)

    outputs = outputs_of_weights(folder, materials, opened)
    parameters = sum(p.numel() for p in module.model.parameters())
    summary = summary_of(
        folder, materials, checkpoints.course, outputs, parameters, config.training.seed
    )
    finish(folder, materials, outputs, summary)
    tell_result(log, told, summary)
    if not config.training.keep_state:
        leave_no_state(folder)
    return summary


def _describe(materials: Materials) -> GraphData:
    complexes: RaggedComplexes = materials.complexes
    task = materials.task
    if task.rank is not None:
        raise ValueError(f"{materials.name} has targets of cells; these networks answer for graphs")
    sizes = np.diff(complexes.ranks[0].offsets)[materials.split["train"]]
    return GraphData(DataShape.of(complexes, task.outputs), float(sizes.mean()))
