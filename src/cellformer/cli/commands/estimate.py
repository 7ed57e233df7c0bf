"""Say what preparing and training a set will take, here or on machines that one thinks of."""

from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from cellformer.basics.checks import positive
from cellformer.basics.files import check_folder
from cellformer.cli.parsing import Parser, add_config_and_target, free_output, run_config_in
from cellformer.cli.preset import add_preset, defaults_in
from cellformer.training.config import RunConfig
from cellformer.training.estimating.machines import Machines


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer estimate``."""
    parser.add_argument("source", type=str, help="a data set by name or path, as for train")
    parser.add_argument(
        "--rows",
        type=float,
        nargs="+",
        default=None,
        help="how many rows like those of the source a set has, such as 1e8 (default: as many as "
        "the source)",
    )
    parser.add_argument(
        "--nodes", type=int, nargs="+", default=[1], help="numbers of machines to think of"
    )
    parser.add_argument(
        "--node-processes", type=int, default=1, help="processes on each of them, as fast as here"
    )
    parser.add_argument(
        "--network", type=float, default=Machines.network, help="gigabits a second between machines"
    )
    parser.add_argument(
        "--storage",
        type=float,
        default=Machines.storage,
        help="megabytes a second of the storage that all share",
    )
    parser.add_argument(
        "--failures", type=float, default=Machines.failures, help="of each machine, a day"
    )
    parser.add_argument(
        "--restart", type=float, default=Machines.restart, help="minutes until one is replaced"
    )
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="how long rows are prepared to measure"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=None, help="write the table to a .csv or .parquet"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output file")
    add_preset(parser, "where the values below start from")
    add_config_and_target(parser)
    parser.add_class_arguments(RunConfig, None)
    parser.set_defaults(defaults_in(arguments))


def run(arguments: Namespace) -> int:
    """Measures, and prints a line for each number of rows and of machines."""
    output = free_output(arguments)
    from cellformer.data.tables.table import is_written, write_table
    from cellformer.training.estimating.planned import planned, table_of
    from cellformer.training.estimating.rates import measured_rates
    from cellformer.training.estimating.words import told_of_plans, told_of_rates

    if output is not None:
        if not is_written(output):
            raise ValueError(f"{output} does not end in .csv, .tsv or .parquet")
        check_folder(output)
    positive(seconds=arguments.seconds)
    for count in arguments.rows or ():
        positive(rows=count)
    config = run_config_in(arguments, arguments.source)
    machines = [
        Machines(nodes, arguments.node_processes, arguments.network, storage=arguments.storage,
                 failures=arguments.failures, restart=arguments.restart)
        for nodes in arguments.nodes
    ]  # fmt: skip
    rates = measured_rates(config, arguments.seconds)
    for line in told_of_rates(rates, config):
        print(line)
    rows = [rates.rows] if arguments.rows is None else [round(count) for count in arguments.rows]
    plans = planned(rates, config.training, rows, machines)
    for line in told_of_plans(plans):
        print(line)
    if output is not None:
        write_table(table_of(plans), output)
    return 0
