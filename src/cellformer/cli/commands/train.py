"""Train a model on a data set, into a run folder.

SIGTERM, SIGUSR1 and Ctrl-C keep the state of the training and end it with exit code 75; --resume
goes on from there. A training that diverges ends with exit code 70 and keeps its best weights.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from cellformer.basics.messages import say
from cellformer.basics.stopping import RESUME_ME, StopRequests
from cellformer.cli.parsing import (
    Parser,
    add_config_and_target,
    add_ray,
    add_slots,
    check_ray,
    run_config_in,
)
from cellformer.cli.preset import add_preset, defaults_in
from cellformer.experiments.presets import PRESETS, flatten
from cellformer.training.config import RunConfig


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer train``."""
    parser.add_argument(
        "source",
        type=str,
        nargs="?",
        help="name of a data set, or path of a table (.csv, .tsv, .parquet, .xlsx), of an .sdf, "
        ".smi or .npz file or of a folder of meshes or raw files; with --config it may be left to "
        "data.source there",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=None,
        help="the run folder to make (default: runs/ and the name of the source)",
    )
    parser.add_argument(
        "--resume",
        type=str,
        default=None,
        metavar="FOLDER",
        help="a run folder to go on with, instead of a source, also to more epochs "
        "(--training.epochs); or auto, beside a source: to go on "
        "with the output folder if it holds this run unfinished, to leave it if it is finished, "
        "and otherwise to begin",
    )
    add_preset(
        parser,
        "where all other values start from: the paper's settings for one of its data sets, or "
        "settings that train quickly",
    )
    add_config_and_target(parser)
    parser.add_argument(
        "--ensemble",
        type=int,
        default=None,
        metavar="N",
        help="train N models that differ in their seed; they predict together, with a spread",
    )
    parser.add_argument(
        "--folds",
        type=int,
        default=None,
        metavar="K",
        help="cross-validation: train K models, each tested on a part of its own",
    )
    add_ray(parser, "share the training among --training.processes workers, as many as have room,")
    add_slots(parser, "process")
    parser.add_class_arguments(RunConfig, None)
    parser.set_defaults(defaults_in(arguments))


def run(arguments: Namespace) -> int:
    """Trains, prints the result, and says where it is."""
    again = arguments.resume == "auto"
    source = arguments.source
    if source is None and arguments.config and (again or arguments.resume is None):
        source = arguments.data.source
    if (source is None) == (arguments.resume is None or again):
        raise ValueError(
            "give either a source to train on, with or without --resume auto, or --resume with a "
            "run folder"
        )
    if arguments.ensemble is not None and arguments.folds is not None:
        raise ValueError("give either --ensemble or --folds")
    check_ray(arguments)
    if source == "-":
        raise ValueError(
            "a run must be able to read its data again, so it cannot be trained on standard "
            "input; give a file"
        )
    from cellformer.experiments.running.jobs import Job
    from cellformer.training.answers.ensemble import MemberKind
    from cellformer.training.processes.launch import Launcher
    from cellformer.training.runs.run_folder import RunFolder
    from cellformer.training.several import perform_several, resume_several, train_several
    from cellformer.training.train import resume, train

    folder = Path(arguments.resume) if source is None else arguments.output
    folder = folder or named_folder(source, free=not again)
    launcher: Launcher | None = None
    if arguments.ray is not None:
        from cellformer.experiments.ray.processes import RayProcesses

        launcher = RayProcesses(arguments.ray, arguments.cpus, arguments.gpus, arguments.retries)

    def work() -> Any:
        if source is None:
            several = RunFolder(folder).members.exists()
            epochs = more_epochs(arguments, PRESETS[arguments.preset])
            if several:
                return resume_several(folder, epochs, launcher)
            return resume(folder, epochs=epochs, launcher=launcher)
        config = run_config_in(arguments, source)
        kind: MemberKind = "seeds" if arguments.folds is None else "folds"
        count = arguments.folds if arguments.ensemble is None else arguments.ensemble
        if count is not None:
            perform = perform_several if again else train_several
            return perform(config, folder, kind, count, launcher=launcher)
        if again:
            return Job(config, folder).perform(launcher=launcher)
        return train(config, folder, launcher=launcher)

    return finished(work, folder)


def finished(work: Callable[[], Any], folder: Path) -> int:
    """Trains, as ``work`` does, prints the result and writes the report; the exit code."""
    from cellformer.report.write import write_report
    from cellformer.training.answers.summary import describe
    from cellformer.training.loop.divergence import DIVERGED, TrainingDiverged
    from cellformer.training.loop.preemption import TrainingInterrupted
    from cellformer.training.loop.world import PeerError, is_first
    from cellformer.training.runs.summary import EnsembleSummary
    from cellformer.training.several import describe_several

    try:
        summary = work()
    except TrainingInterrupted as stopped:
        if is_first():
            say(stopped)
        return RESUME_ME
    except TrainingDiverged as diverged:
        if is_first():
            say(diverged)
        return DIVERGED
    except PeerError as error:
        if str(error):
            say(error)
        return 1
    if not is_first():
        return 0
    try:
        with StopRequests():
            several = isinstance(summary, EnsembleSummary)
            print(describe_several(summary) if several else describe(summary))
            write_report(folder)
    except KeyboardInterrupt:
        say(TrainingInterrupted(folder, 0))
        return RESUME_ME
    print(f"Everything about this run is in {folder}")
    return 0


def more_epochs(arguments: Namespace, defaults: RunConfig) -> int | None:
    """The epochs to go on to, where they are given; raises ValueError for any other value.

    A run goes on as it was begun.
    """
    usual = flatten(defaults)
    asked = flatten(run_config_in(arguments, usual["data.source"]))
    given = [name for name, value in asked.items() if value != usual[name]]
    given += [name for name in ("ensemble", "folds") if arguments.get(name) is not None]
    given += ["preset"] if arguments.get("preset", "default") != "default" else []
    others = [name for name in given if name != "training.epochs"]
    if others:
        raise ValueError(
            f"--resume goes on with what a run was begun with, so --{others[0]} is of no use; only "
            "--training.epochs can be more than it was"
        )
    epochs: int | None = arguments.training.fixed_epochs if given else None
    return epochs


def named_folder(source: str, free: bool) -> Path:
    """runs/NAME, or, if it has to be free, runs/NAME-2 and so on where earlier runs lie."""
    name = Path(source).name.split(".")[0] or "run"
    folder, number = Path("runs") / name, 1
    while free and folder.exists() and any(folder.iterdir()):
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder
