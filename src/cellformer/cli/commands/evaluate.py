"""Score a trained model on labeled data."""

import json
from collections.abc import Sequence

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser, add_input, add_run


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer evaluate``."""
    add_run(parser)
    parser.add_argument(
        "source",
        type=str,
        nargs="?",
        help="labeled data, all of it scored (default: a part of the run's own)",
    )
    parser.add_argument(
        "--part",
        choices=("train", "val", "test"),
        default=None,
        help="which part of the run's own data to score (default: test)",
    )
    parser.add_argument(
        "--on-error",
        choices=("skip", "fail"),
        default="skip",
        help="what happens to a row without a valid molecule: it does not count, or the exit "
        "code is 1",
    )
    add_input(parser)


def run(arguments: Namespace) -> int:
    """Prints the scores as JSON."""
    if arguments.source is None:
        if arguments.smiles_column is not None or arguments.on_error == "fail":
            raise ValueError("--smiles-column and --on-error are of use with data to score only")
    elif arguments.part is not None:
        raise ValueError("--part is one of the run's own data; leave it out to score a source")
    from cellformer.training.answers.ensemble import Ensemble
    from cellformer.training.answers.evaluate import evaluate_with

    ensemble = Ensemble.open(arguments.run, arguments.weights)
    result = evaluate_with(
        ensemble.by(arguments.device, arguments.batch_size, arguments.samples),
        arguments.source,
        part=arguments.part or "test",
        on_error=arguments.on_error,
        interval=arguments.interval,
        calibrate=arguments.calibrate,
        smiles_column=arguments.smiles_column,
    )
    print(json.dumps({"weights": arguments.weights, **result}, indent=2))
    return 0
