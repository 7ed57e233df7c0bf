"""Train a model from a configuration into a run folder."""

import logging
import os
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path

import lightning.pytorch as pl
import torch

from cellformer.basics.owners import clear_once
from cellformer.basics.stopping import StopRequests
from cellformer.data.dataset import GraphSet
from cellformer.data.preparation import Preparation
from cellformer.model.catalogs import READOUTS
from cellformer.model.embedding.feature_scaling import standardize_features
from cellformer.model.embedding.unseen import silence_unseen
from cellformer.model.plans.named import attention_plan, plan_to_dict
from cellformer.model.plans.plan import AttentionPlan
from cellformer.model.plans.reaching import reaching
from cellformer.training.answers.descriptor_share import fitted_kernels, settle_descriptors
from cellformer.training.answers.summary import shown, write_summary
from cellformer.training.config import PreparationConfig, RunConfig
from cellformer.training.estimating.step_fits import check_step_fits
from cellformer.training.loop.answering import answering
from cellformer.training.loop.beside import KernelsBeside
from cellformer.training.loop.compiling import check_sparse, compile_layers
from cellformer.training.loop.devices import check_device, device_of
from cellformer.training.loop.fit import check_loss, fit, training_weights
from cellformer.training.loop.loggers import check_logger, logger_of, tell_result
from cellformer.training.loop.module import CellularModule
from cellformer.training.loop.placement import placed
from cellformer.training.loop.states import leave_no_state, stopped_early
from cellformer.training.loop.thawing import parameter_groups
from cellformer.training.loop.world import World, launched
from cellformer.training.materials.halo import with_halo
from cellformer.training.materials.materials import Materials, gather
from cellformer.training.materials.preparation import preparation_of
from cellformer.training.objectives.objectives import check_objectives, objectives_of
from cellformer.training.processes.launch import Launcher, launch
from cellformer.training.processes.session import session
from cellformer.training.runs.extending import lay_out
from cellformer.training.runs.preparation import preparation_in, write_preparation
from cellformer.training.runs.recipe import Recipe
from cellformer.training.runs.run_folder import RunFolder
from cellformer.training.runs.split import write_split
from cellformer.training.runs.start import begin_with, read_start, tell
from cellformer.training.runs.summary import Summary
from cellformer.training.runs.weights import read_weights, write_weights

logger = logging.getLogger(__name__)


def train(
    config: RunConfig,
    path: str | os.PathLike[str],
    stop_after: int | None = None,
    data: GraphSet | None = None,
    callbacks: Sequence[pl.Callback] = (),
    preparation: Preparation | None = None,
    plan: AttentionPlan | None = None,
    launcher: Launcher | None = None,
) -> Summary:
    """Trains into a new run folder and returns the result, as it stands in ``summary.json``.

    ``data`` is learned instead of the source that the configuration names; such a run predicts
    like any other, but cannot be resumed or scored on its own parts from the folder alone.
    ``preparation`` makes the complexes, in place of what the fields of ``config.data`` describe,
    and ``plan`` says who attends to whom, in place of ``config.attention``: with parts of your own,
    say, which have to be found again by their module and name (see `allow_parts`).
    ``stop_after`` ends this session after so many epochs, with the schedule still laid out for all
    of them; `resume` goes on. ``callbacks`` are called after all others. ``launcher`` starts the
    processes elsewhere than on this machine: `RayProcesses` on a cluster. Called in each of several
    processes that torchrun or SLURM started, it trains in all of them together. Raises
    FileExistsError if the folder holds a run already, ValueError for data that cannot be trained
    on, `TrainingInterrupted` on Ctrl-C, SIGTERM and SIGUSR1, `PeerError` where another process
    fails.
    """
    if data is not None and _starts_others(config, launcher):
        raise ValueError(
            "data in memory are not sent to other processes; set training.processes to 1, give the "
            "path of a file, or start this script with torchrun"
        )
    folder = RunFolder(Path(path))
    config = with_halo(config, plan)
    made = _preparation(config, preparation)
    made.to_dict()  # raises where it could not be found again
    _check_model(config, plan)
    check_machine(config, launcher)
    with session(config.training, folder.path) as (world, requests):
        world.from_first(folder.refuse_taken)
        materials = world.together(lambda: gather(config.data, data, made))
        recipe = recipe_for(config, materials, plan)
        if world.size == 1 and launcher is None:
            check_step_fits(config, materials, recipe)
        start = None
        if config.training.start_from is not None:
            start = read_start(Path(config.training.start_from), recipe, made)

        def write() -> None:
            folder.claim()
            if start is not None:
                write_weights(folder.start, start.weights)
                tell(start)
            recipe.write(folder)
            write_split(folder, materials)
            described = materials.molecule_descriptors
            units = materials.column_units
            write_preparation(
                folder, replace(made, column_units=units, molecule_descriptors=described)
            )
            folder.write_failures(materials.failures)
            folder.write_leaks(materials.leaks)
            folder.write_config(config)

        world.from_first(write)
        if _starts_others(config, launcher):
            return _elsewhere(config, folder, stop_after, requests, callbacks, launcher)
        return _run(config, folder, materials, recipe, stop_after, world, requests, callbacks)


def resume(
    path: str | os.PathLike[str],
    stop_after: int | None = None,
    callbacks: Sequence[pl.Callback] = (),
    epochs: int | None = None,
    launcher: Launcher | None = None,
) -> Summary:
    """Goes on with an interrupted run; the result equals that of an uninterrupted one.

    A finished run is left as it is and its result returned. ``epochs``, more than it was begun
    with, lays it out anew, finished or not: the schedule of the learning rate is that of so many
    epochs from the next step on, so that the rate rises again where it had come down. The number
    of processes may be another one than before. Raises FileNotFoundError if the folder holds no
    run, and otherwise as `train`.
    """
    folder = RunFolder(Path(path))
    config = RunConfig.from_json(folder.require(folder.config))
    if epochs is None and _is_finished(folder):
        return _finished(folder)
    check_machine(config, launcher)
    with session(config.training, folder.path) as (world, requests):
        if epochs is None:
            world.from_first(lambda: _take_up(folder))
        else:
            world.from_first(lambda: lay_out(folder, epochs))
            config = RunConfig.from_json(folder.config)
        if folder.summary.exists():
            return _finished(folder)
        preparation = preparation_in(folder, config)
        materials = world.together(lambda: gather(config.data, preparation=preparation))
        recipe = world.from_first(lambda: Recipe.read(folder))
        if world.size == 1 and launcher is None:
            check_step_fits(config, materials, recipe)
        if _starts_others(config, launcher):
            return _elsewhere(config, folder, stop_after, requests, callbacks, launcher)
        return _run(config, folder, materials, recipe, stop_after, world, requests, callbacks)


def recipe_for(
    config: RunConfig, materials: Materials, plan: AttentionPlan | None = None
) -> Recipe:
    """`Recipe.for_materials`; raises ValueError for a loss or objectives of no use to them too."""
    recipe = Recipe.for_materials(config, materials, plan)
    check_loss(recipe.task, config.training, materials)
    check_objectives(config.objectives, recipe.model.data)
    return recipe


def check_machine(config: RunConfig, launcher: Launcher | None) -> None:
    """Raises ValueError for a device that is not here, where training is to be here.

    Also where there is more than one to start the processes.
    """
    if launcher is None:
        check_device(config.training)
    elif launched() is not None:
        raise ValueError("this is one of several processes already; start a single one for Ray")
    check_logger(config.training)


def _is_finished(folder: RunFolder) -> bool:
    """Whether its result is there, and not only that of a session which `stop_after` ended."""
    return folder.summary.exists() and not stopped_early(folder)


def _take_up(folder: RunFolder) -> None:
    """Removes the result of such a session; another process may just have finished the run."""
    if not _is_finished(folder):
        folder.summary.unlink(missing_ok=True)


def _finished(folder: RunFolder) -> Summary:
    clear_once(folder.path)
    without = "; its state was not kept (training.keep_state), so it cannot be trained on"
    logger.info("%s is finished already%s", folder.path, "" if folder.states else without)
    return Summary.read(folder.path)


def _preparation(config: RunConfig, given: Preparation | None) -> Preparation:
    """What is given, or else what the configuration describes; raises ValueError for both."""
    if given is None:
        return preparation_of(config.data, config.data.source)
    for field in fields(PreparationConfig):
        if getattr(config.data, field.name) != field.default:
            raise ValueError(
                f"data.{field.name} is of no use beside a preparation, which says that too"
            )
    return given


def _check_model(config: RunConfig, given: AttentionPlan | None) -> None:
    """Raises ValueError for parts that could not be found again, or not be trained.

    PartRefusedError for code of others that was not named.
    """
    if given is not None and config.attention != RunConfig.attention:
        raise ValueError(f"attention {config.attention} is of no use beside a plan")
    plan = attention_plan(config.attention) if given is None else given
    plan_to_dict(plan)
    READOUTS.find(config.model.readout)
    plan = reaching(plan, config.model)
    if config.training.compile:
        check_sparse(plan)


def _run(
    config: RunConfig,
    folder: RunFolder,
    materials: Materials,
    recipe: Recipe,
    stop_after: int | None,
    world: World,
    requests: StopRequests,
    callbacks: Sequence[pl.Callback],
) -> Summary:
    chosen = config.training
    torch.manual_seed(chosen.seed)
    model = recipe.build()
    standardize_features(model, materials.complexes, materials.split["train"])
    silence_unseen(model, materials.complexes, materials.split["train"])
    start = read_weights(folder.start) if chosen.start_from is not None else {}
    begin_with(model, start)
    groups = parameter_groups(model, start.keys(), chosen.thaw, chosen.start_rate)
    complexes = placed(materials.complexes, model, chosen)
    if chosen.compile:
        compile_layers(model, device_of(chosen))
    module = CellularModule(
        model,
        recipe.task,
        recipe.scaling,
        chosen.loss,
        config.optimizer,
        seed=chosen.seed,
        class_weights=training_weights(recipe.task, chosen, materials),
        world=world,
    )
    module.groups = groups
    module.objectives = objectives_of(config.objectives, model)
    if module.objectives is not None:
        groups[0].parameters.extend(module.objectives.parameters())
    kernels = fitted_kernels(module, model, materials)
    module.beside = None if kernels is None else KernelsBeside(kernels)
    told = asdict(config)
    log = logger_of(chosen, folder.path, told)
    checkpoints = fit(
        module, chosen, folder, materials, complexes, requests, stop_after, callbacks, log
    )

    def finish() -> Summary:
        settle_descriptors(folder, module, model, materials, kernels)
        parameters = sum(p.numel() for p in model.parameters())
        summary = write_summary(
            folder, materials, recipe, checkpoints.course, parameters, chosen.seed
        )
        tell_result(log, told, summary)
        of, metric = answering(model), summary.metric
        if of and summary.best_epoch is not None:
            logger.info(
                "epoch %d, the best: validation %s %.4f%s, %s with the fingerprints' share",
                summary.best_epoch,
                metric,
                checkpoints.best_value,
                of,
                shown(summary.reported["val"][metric]),
            )
        if not chosen.keep_state and checkpoints.complete:
            leave_no_state(folder)
        return summary

    return world.from_first(finish)


def _starts_others(config: RunConfig, launcher: Launcher | None) -> bool:
    """Whether it is for this process to start those that train."""
    return (config.training.processes > 1 or launcher is not None) and launched() is None


def _elsewhere(
    config: RunConfig,
    folder: RunFolder,
    stop_after: int | None,
    requests: StopRequests,
    callbacks: Sequence[pl.Callback],
    launcher: Launcher | None,
) -> Summary:
    """Has other processes train, here or on a cluster."""
    if callbacks:
        raise ValueError("callbacks are not sent to others; set training.processes to 1")
    (launcher or launch)(folder.path, config.training.processes, stop_after, requests)
    return Summary.read(folder.path)
