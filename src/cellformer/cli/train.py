"""Train a model on a data set, into a run folder."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser
from cellformer.cli.preset import add_preset, preset_in
from cellformer.experiments.presets import PRESETS, flatten
from cellformer.training.config import RunConfig


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer train``."""
    parser.add_argument(
        "source",
        type=str,
        nargs="?",
        help="name of a data set, or path of a table (.csv, .tsv, .parquet), of an .npz file or of "
        "a folder of meshes or raw files",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=None,
        help="the run folder to make (default: runs/ and the name of the source)",
    )
    parser.add_argument(
        "--resume", type=Path, default=None, help="a run folder to go on with, instead of a source"
    )
    add_preset(
        parser,
        "where all other values start from: the paper's settings for one of its data sets, or "
        "settings that train quickly",
    )
    parser.add_argument(
        "--config", action="config", help="YAML or JSON file with any of the values below"
    )
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        type=str,
        help="a column to learn; repeat it for several (short for data.target)",
    )
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
    parser.add_class_arguments(RunConfig, None)
    parser.set_defaults(flatten(PRESETS[preset_in(arguments)]))


def run(arguments: Namespace) -> int:
    """Trains, prints the result, and says where it is."""
    if (arguments.source is None) == (arguments.resume is None):
        raise ValueError("give either a source to train on or --resume with a run folder")
    if arguments.ensemble is not None and arguments.folds is not None:
        raise ValueError("give either --ensemble or --folds")
    if arguments.source == "-":
        raise ValueError(
            "a run must be able to read its data again, so it cannot be trained on standard "
            "input; give a file"
        )
    from cellformer.report.write import write_report
    from cellformer.training.fit import TrainingInterrupted, resume, train
    from cellformer.training.run_folder import RunFolder
    from cellformer.training.several import (
        cross_validate,
        describe_several,
        resume_several,
        train_ensemble,
    )
    from cellformer.training.summary import describe

    try:
        if arguments.resume is not None:
            folder = arguments.resume
            several = RunFolder(folder).members.exists()
            summary = resume_several(folder) if several else resume(folder)
        else:
            data = replace(
                arguments.data,
                source=arguments.source,
                target=tuple(arguments.target) or arguments.data.target,
            )
            config = RunConfig(
                data, arguments.attention, arguments.model, arguments.optimizer, arguments.training
            )
            folder = arguments.output or _free_folder(arguments.source)
            if arguments.ensemble is not None:
                summary = train_ensemble(config, folder, arguments.ensemble)
            elif arguments.folds is not None:
                summary = cross_validate(config, folder, arguments.folds)
            else:
                summary = train(config, folder)
    except TrainingInterrupted as stopped:
        print(f"cellformer: {stopped}", file=sys.stderr)
        return 128 + stopped.signal
    print(describe_several(summary) if "members" in summary else describe(summary))
    if "members" not in summary:
        write_report(folder)
    print(f"Everything about this run is in {folder}")
    return 0


def _free_folder(source: str) -> Path:
    """runs/NAME, or runs/NAME-2 and so on where earlier runs lie."""
    name = Path(source).name.split(".")[0] or "run"
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder
