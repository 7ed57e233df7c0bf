"""Score a trained model on labeled data."""

import json
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer evaluate``."""
    parser.add_argument("run", type=Path, help="a run folder that cellformer train made")
    parser.add_argument(
        "source",
        type=str,
        nargs="?",
        help="labeled data, all of it scored (default: a part of the run's own)",
    )
    parser.add_argument(
        "--part",
        choices=("train", "val", "test"),
        default="test",
        help="which part of the run's own data to score",
    )
    parser.add_argument(
        "--weights",
        choices=("best", "last"),
        default="best",
        help="those of the best validation epoch or of the last epoch",
    )


def run(arguments: Namespace) -> int:
    """Prints the scores as JSON."""
    from cellformer.training.evaluate import evaluate

    result = evaluate(
        arguments.run, arguments.source, part=arguments.part, weights=arguments.weights
    )
    print(json.dumps(result, indent=2))
    return 0
