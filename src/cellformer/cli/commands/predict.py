"""Predict with a trained model, row by row of a file, or the SMILES on the command line."""

import logging
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from jsonargparse import Namespace

from cellformer.basics.files import check_folder
from cellformer.cli.parsing import (
    Parser,
    add_input,
    add_output,
    add_ray,
    add_run,
    add_slots,
    check_ray,
    free_output,
)
from cellformer.cli.sources import named_source

if TYPE_CHECKING:
    from cellformer.training.answers.predict import PieceExecutor

logger = logging.getLogger(__name__)


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer predict``."""
    add_run(parser)
    parser.add_argument(
        "source",
        type=str,
        nargs="+",
        help="a table with SMILES or InChI (.csv, .tsv, .parquet, .xlsx), an .sdf, lines of SMILES "
        "(.smi, .txt), - for standard input, an .npz, the name of a data set, or one or more "
        "SMILES",
    )
    add_output(
        parser,
        "the table to write, .csv, .tsv or .parquet, or a .ply: the mesh of "
        "the source colored by what is predicted of its cells",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output file")
    parser.add_argument(
        "--spreadsheet",
        action="store_true",
        help="put an apostrophe before texts that begin with =, +, - or @, which a spreadsheet "
        "would run as a formula; otherwise all cells stay as they are",
    )
    parser.add_argument(
        "--on-error",
        choices=("null", "skip", "fail"),
        default="null",
        help="what happens to a row without a prediction: it stays, blank, with the reason in "
        "column error; it is left out; or nothing is written and the exit code is 1",
    )
    add_input(parser)
    add_ray(parser, "share a table of more than 16,384 rows among workers, piece by piece,")
    add_slots(parser, "worker")


def run(arguments: Namespace) -> int:
    """Writes the rows of the source in their order with new columns."""
    check_ray(arguments)
    output = free_output(arguments)
    from cellformer.data.preparation import Source
    from cellformer.data.tables.delimited import Dialect
    from cellformer.data.tables.table import is_written, write_pieces, write_table
    from cellformer.data.tables.writing import for_spreadsheets
    from cellformer.training.answers.answer import open_input
    from cellformer.training.answers.ensemble import Ensemble
    from cellformer.training.answers.pieces import large_table
    from cellformer.training.answers.predict import Predicted, predict_pieces, predict_with

    mesh = output is not None and output.suffix.lower() == ".ply"
    if output is not None and not (is_written(output) or mesh):
        raise ValueError(f"{output} does not end in .csv, .tsv, .parquet or .ply")
    if mesh and arguments.spreadsheet:
        raise ValueError(f"--spreadsheet is about the texts of a table; {output} is a mesh")
    if output is not None:
        check_folder(output)
    source: Source = named_source(arguments.source)
    ensemble = Ensemble.open(arguments.run, arguments.weights)
    ensemble = ensemble.by(arguments.device, arguments.batch_size, arguments.samples)
    options = {
        name: getattr(arguments, name)
        for name in ("on_error", "interval", "calibrate", "smiles_column")
    }
    rows = failed = 0

    def told(part: Predicted) -> tuple[Any, Dialect]:
        nonlocal rows, failed
        rows, failed = rows + part.rows, failed + part.failed
        frame = for_spreadsheets(part.frame) if arguments.spreadsheet else part.frame
        return frame, part.dialect

    # What was printed before a row fails could not be taken back.
    piecewise = output is not None or arguments.on_error != "fail"
    if mesh and output is not None:
        from cellformer.cli.meshes import check_cells, write_mesh

        check_cells(ensemble.task)
        opened, _ = open_input(ensemble, source, labeled=False)
        write_mesh(output, ensemble, opened, predict_with(ensemble, opened, **options).frame)
        return 0
    with large_table(ensemble, source) if piecewise else nullcontext((source, None)) as found:
        source, pieces = found
        if pieces is None:
            if arguments.ray is not None:
                logger.warning("--ray is of no use here: only tables of several pieces are shared")
            frame, dialect = told(predict_with(ensemble, source, **options))
            write_table(frame, output, dialect)
        else:
            executor = _workers(arguments)
            answers = predict_pieces(ensemble, pieces, **options, executor=executor)
            write_pieces(map(told, answers), output)
    if failed:
        print(
            f"{failed} of {rows} rows could not be predicted"
            + ("; column error says why" if arguments.on_error == "null" else " and are left out"),
            file=sys.stderr,
        )
    return 1 if rows and failed == rows else 0


def _workers(arguments: Namespace) -> "PieceExecutor | None":
    if arguments.ray is None:
        return None
    from cellformer.experiments.ray.answering import RayAnswers

    return RayAnswers(arguments.ray, arguments.cpus, arguments.gpus, arguments.retries)
