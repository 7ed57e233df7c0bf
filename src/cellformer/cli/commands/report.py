"""Write the report of a finished run, as train does at its end."""

from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer report``."""
    parser.add_argument("run", type=Path, help="a run folder that cellformer train made")


def run(arguments: Namespace) -> int:
    """Writes report.html and says where it is."""
    from cellformer.report.write import write_report

    print(f"The report is {write_report(arguments.run)}")
    return 0
