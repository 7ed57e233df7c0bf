"""Predict with a trained model, row by row of a file."""

import sys
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer predict``."""
    parser.add_argument("run", type=Path, help="a run folder that cellformer train made")
    parser.add_argument(
        "source",
        type=str,
        help="a .csv with a column of SMILES, an .npz, or the name of a data set",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=None,
        help="the CSV file to write (default: standard output)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output file")
    parser.add_argument(
        "--weights",
        choices=("best", "last"),
        default="best",
        help="those of the best validation epoch or of the last epoch",
    )


def run(arguments: Namespace) -> int:
    """Writes the rows of the source in their order with new columns."""
    if arguments.output is not None and arguments.output.exists() and not arguments.overwrite:
        raise FileExistsError(f"{arguments.output} exists; choose another name or --overwrite")
    from cellformer.data.files import replace_atomically
    from cellformer.training.predict import predict

    table = predict(arguments.run, arguments.source, weights=arguments.weights)
    if arguments.output is None:
        table.to_csv(sys.stdout, index=False)
    else:
        with replace_atomically(arguments.output) as unfinished:
            table.to_csv(unfinished, index=False)
    failed = int((table["error"] != "").sum()) if "error" in table else 0
    if failed:
        print(
            f"{failed} of {len(table)} rows could not be predicted; column error says why",
            file=sys.stderr,
        )
    return 0
