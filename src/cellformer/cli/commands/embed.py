"""Write what a trained model has learned of each row, or of each of its cells, as a vector."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from jsonargparse import Namespace

from cellformer.basics.files import check_folder, replace_atomically
from cellformer.cli.parsing import Parser, add_model, add_output, add_run, free_output
from cellformer.cli.sources import named_source


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer embed``."""
    add_run(parser)
    parser.add_argument(
        "source", type=str, nargs="+", help="what cellformer predict takes: a table, a data set, "
        "or one or more SMILES",
    )  # fmt: skip
    add_output(
        parser,
        "the table to write, .csv, .tsv or .parquet, or .npy for the vectors alone, a row for each "
        "of the source and NaN where there is none",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output file")
    parser.add_argument(
        "--rank",
        type=int,
        default=None,
        metavar="K",
        help="a vector for each cell of this rank (default: one for each row)",
    )
    parser.add_argument(
        "--pool",
        choices=("mean", "sum", "both"),
        default="mean",
        help="of its cells' vectors, what a row gets; both: the mean, then the sum",
    )
    parser.add_argument(
        "--layers",
        choices=("last", "all"),
        default="last",
        help="the vectors after the last layer, or those before the first and after each, side by "
        "side",
    )
    add_model(parser)


def run(arguments: Namespace) -> int:
    """Writes the vectors in the order of the source."""
    output = free_output(arguments)
    import numpy as np

    from cellformer.basics.growing import save_rows
    from cellformer.data.preparation import Source
    from cellformer.data.tables.delimited import Dialect
    from cellformer.data.tables.frames import attach
    from cellformer.data.tables.table import Table, is_written, write_pieces, write_table
    from cellformer.training.answers.embed import Embeddings, embed_with
    from cellformer.training.answers.ensemble import Ensemble
    from cellformer.training.answers.pieces import in_pieces, large_table

    array = output is not None and output.suffix.lower() == ".npy"
    if array and arguments.rank is not None:
        raise ValueError(
            "the rows of an .npy cannot say whose cells they are, so --rank needs a table"
        )
    if output is not None and not array and not is_written(output):
        raise ValueError(f"{output} does not end in .csv, .tsv, .parquet or .npy")
    if output is not None:
        check_folder(output)
    ensemble = Ensemble.open(arguments.run, arguments.weights)
    ensemble = ensemble.by(arguments.device, arguments.batch_size)
    count = lost = 0

    def found(own: Ensemble, source: Source) -> tuple[Embeddings, Table | None]:
        vectors, table = embed_with(
            own,
            source,
            arguments.rank,
            arguments.pool,
            arguments.smiles_column,
            arguments.layers,
        )
        nonlocal count, lost
        failed = np.array([bool(reason) for reason in vectors.reasons], bool)
        count += len(np.unique(vectors.row))
        lost += len(np.unique(vectors.row[failed]))
        return vectors, table

    def told(vectors: Embeddings, table: Table | None) -> tuple[Any, Dialect]:
        if table is None or arguments.rank is not None:
            return vectors.frame(), table.dialect if table else Dialect()
        columns: dict[str, Any] = {**vectors.columns(), "error": list(vectors.reasons)}
        return attach(table.frame, columns), table.dialect

    source: Source = named_source(arguments.source)
    # Cells are told by the number of their row, which a piece does not know.
    rows = arguments.rank is None
    with large_table(ensemble, source) if rows else nullcontext((source, None)) as opened:
        source, pieces = opened
        parts = (
            [found(ensemble, source)]
            if pieces is None
            else (found(own, table) for table, own in in_pieces(ensemble, pieces))
        )
        if array and output is not None:
            with replace_atomically(output) as unfinished, unfinished.open("wb") as file:
                save_rows(file, (vectors.vectors for vectors, _ in parts))
        elif pieces is None:
            frame, dialect = next(told(*part) for part in parts)
            write_table(frame, output, dialect)
        else:
            write_pieces((told(*part) for part in parts), output)
    if lost:
        print(f"{lost} of {count} rows have no vector; column error says why", file=sys.stderr)
    return 1 if lost and lost == count else 0
