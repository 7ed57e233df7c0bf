"""Write a trained model as a file that predicts without this package, or rows for it."""

import sys
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser, add_run, add_weights, free_output
from cellformer.cli.sources import named_source


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer export``."""
    add_run(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=None,
        help="the file to write, .pt2 for PyTorch or .onnx, or .npz with --batch (default: the "
        "name of the run with .pt2)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output file")
    parser.add_argument(
        "--check",
        type=str,
        default=None,
        metavar="SOURCE",
        help="rows, of which up to 1,000 are predicted by the file and by the run, which have to "
        "agree (default: those of the run's own data)",
    )
    parser.add_argument(
        "--batch",
        type=str,
        nargs="+",
        default=None,
        metavar="SOURCE",
        help="instead of the model, write these rows as the file's input: what cellformer predict "
        "takes, a table, a data set, or one or more SMILES",
    )
    add_weights(parser)


def run(arguments: Namespace) -> int:
    """Writes the file, and says how far it is from the run."""
    if arguments.output is None and arguments.batch is None:
        place = arguments.run.absolute()
        arguments.output = place.with_name(f"{place.name}.pt2")
    output = free_output(arguments)
    if output is None:
        raise ValueError("-o names the file to write; it cannot be standard output")
    from cellformer.exporting.export import check_ending, export_with
    from cellformer.exporting.prepared import export_batch_with
    from cellformer.training.answers.ensemble import Ensemble

    if arguments.batch is not None:
        if arguments.check is not None:
            raise ValueError("--check is of no use with --batch, which writes no model")
        source = named_source(arguments.batch)
        ensemble = Ensemble.open(arguments.run, arguments.weights)
        written = export_batch_with(ensemble, source, output, arguments.smiles_column)
        for row, reason in written.reasons.items():
            print(f"row {row} is left out: {reason}", file=sys.stderr)
        print(f"{output}: {len(written.rows)} rows")
        return 0
    check_ending(output)
    check = None if arguments.check is None else named_source([arguments.check])
    ensemble = Ensemble.open(arguments.run, arguments.weights)
    found = export_with(ensemble, output, check, arguments.smiles_column)
    size = found.path.stat().st_size / 1e6
    unit = "of its deviation" if ensemble.task.kind == "regression" else "of a probability"
    print(
        f"{found.path}: {size:.1f} MB; on {found.rows} rows it differs from the run by "
        f"{found.deviation:.1g} {unit} at most"
    )
    return 0
