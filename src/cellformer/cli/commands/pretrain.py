"""Train a model on graphs or molecules without labels, for cellformer train --from to begin with.

It learns what RDKit computes of molecules, to guess features of cells that are hidden from it, and
how pairs of vertices lie to each other. SIGTERM, SIGUSR1 and Ctrl-C keep the state of the training
and end it with exit code 75; --resume goes on from there.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jsonargparse import Namespace

from cellformer.cli.commands.train import finished, more_epochs, named_folder
from cellformer.cli.parsing import Parser, run_config_in
from cellformer.cli.preset import defaults_in
from cellformer.experiments.presets import PRETRAINING
from cellformer.training.config import RunConfig


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer pretrain``."""
    parser.add_argument(
        "source",
        type=str,
        nargs="*",
        help="what cellformer train takes, one or more of a kind: names of data sets, tables, "
        ".sdf, .smi or .npz files or folders; labels are not read",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=None,
        help="the run folder to make (default: runs/ and the name of the first source)",
    )
    parser.add_argument(
        "--leave-out",
        action="append",
        default=[],
        type=str,
        metavar="SOURCE",
        help="molecules that must not be learned, whatever their form: those by which models will "
        "be judged; repeat it for several sources (short for data.leave_out)",
    )
    parser.add_argument(
        "--resume",
        type=str,
        default=None,
        metavar="FOLDER",
        help="a run folder to go on with, instead of sources, also to more epochs "
        "(--training.epochs); or auto, beside sources: to go on with the output folder if it holds "
        "this run unfinished, to leave it if it is finished, and otherwise to begin",
    )
    parser.add_argument(
        "--config", action="config", help="YAML or JSON file with any of the values below"
    )
    parser.add_class_arguments(RunConfig, None)
    parser.set_defaults(defaults_in(arguments, PRETRAINING))


def run(arguments: Namespace) -> int:
    """Pretrains, prints the result, and says where it is."""
    again = arguments.resume == "auto"
    sources = list(arguments.source)
    if not sources and arguments.config and (again or arguments.resume is None):
        sources = [arguments.data.source]
    if bool(sources) == (arguments.resume is not None and not again):
        raise ValueError(
            "give either sources to learn from, with or without --resume auto, or --resume with a "
            "run folder"
        )
    from cellformer.experiments.running.jobs import Job
    from cellformer.training.train import resume, train

    if not sources:
        if arguments.leave_out:
            raise ValueError("--resume goes on with what was left out, so --leave-out is of no use")
        path = Path(arguments.resume)
        return finished(lambda: resume(path, epochs=more_epochs(arguments, PRETRAINING)), path)
    config = run_config_in(arguments, sources[0])
    config = replace(
        config,
        data=replace(
            config.data,
            more_sources=(*sources[1:], *config.data.more_sources),
            leave_out=(*arguments.leave_out, *config.data.leave_out),
        ),
    )
    folder = arguments.output or named_folder(sources[0], free=not again)
    return finished(
        (lambda: Job(config, folder).perform()) if again else lambda: train(config, folder), folder
    )
