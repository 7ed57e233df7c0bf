"""Train a model on a data set, into a run folder."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser
from cellformer.experiments.presets import PRESETS, flatten
from cellformer.training.config import RunConfig


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer train``."""
    parser.add_argument(
        "source",
        type=str,
        nargs="?",
        help="name of a built-in data set, or path of an .npz or .csv file",
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
    parser.add_argument(
        "--preset",
        choices=sorted(PRESETS),
        default="default",
        help="where all other values start from: the paper's settings for one of "
        "its data sets, or settings that train quickly",
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
    parser.add_class_arguments(RunConfig, None)
    parser.set_defaults(flatten(PRESETS[_preset(arguments)]))


def run(arguments: Namespace) -> int:
    """Trains, prints the result, and says where it is."""
    if (arguments.source is None) == (arguments.resume is None):
        raise ValueError("give either a source to train on or --resume with a run folder")
    from cellformer.report.write import write_report
    from cellformer.training.fit import TrainingInterrupted, resume, train
    from cellformer.training.summary import describe

    try:
        if arguments.resume is not None:
            folder = arguments.resume
            summary = resume(folder)
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
            summary = train(config, folder)
    except TrainingInterrupted as stopped:
        print(f"cellformer: {stopped}", file=sys.stderr)
        return 128 + stopped.signal
    print(describe(summary))
    write_report(folder)
    print(f"Everything about this run is in {folder}")
    return 0


def _preset(arguments: Sequence[str]) -> str:
    """The value of --preset, needed before parsing because other defaults follow from it."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        value = following if word == "--preset" else word.removeprefix("--preset=")
        if word.startswith("--preset") and value in PRESETS:
            return value
    return "default"


def _free_folder(source: str) -> Path:
    """runs/NAME, or runs/NAME-2 and so on where earlier runs lie."""
    name = Path(source).name.split(".")[0] or "run"
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder
