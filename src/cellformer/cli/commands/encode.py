"""Print the encodings of one complex as a table."""

import sys
from collections.abc import Sequence

from jsonargparse import Namespace

from cellformer.basics.files import check_folder, replace_atomically
from cellformer.cli.parsing import OF_FEATURES, Parser, add_output, add_preparation
from cellformer.training.config import PreparationConfig


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer encode``."""
    parser.add_argument(
        "source", type=str, help="a data set by name or path, a mesh file, or a SMILES string"
    )
    add_output(parser, "the CSV file to write")
    parser.add_argument("--index", type=int, default=0, help="the row to encode")
    add_preparation(parser, PreparationConfig(), skip=OF_FEATURES)


def run(arguments: Namespace) -> int:
    """Writes one row per cell: rank, number, vertices, encoding columns."""
    import pandas as pd

    if arguments.output is not None:
        if arguments.output.suffix.lower() != ".csv":
            raise ValueError(f"{arguments.output} does not end in .csv")
        check_folder(arguments.output)
    from cellformer.complexes.matrices import containment
    from cellformer.training.materials.preparation import open_with

    preparation, source = open_with(arguments.data, arguments.source)
    encodings = preparation.encodings
    cells = preparation.one(source, arguments.index)
    names = [
        f"{type(encoding).__name__}_{column}"
        for encoding in encodings
        for column in range(encoding.size)
    ]
    parts = []
    for rank, rows in enumerate(cells.encodings):
        corners = (
            containment(cells, 0, rank).T.tolil().rows if rank else [[v] for v in range(len(rows))]
        )
        part = pd.DataFrame(rows, columns=names)
        part.insert(0, "vertices", [" ".join(map(str, row)) for row in corners])
        part.insert(0, "cell", range(len(rows)))
        part.insert(0, "rank", rank)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    if arguments.output is None:
        table.to_csv(sys.stdout, index=False, float_format="%.6g")
    else:
        with replace_atomically(arguments.output) as unfinished:
            table.to_csv(unfinished, index=False, float_format="%.9g")
    return 0
