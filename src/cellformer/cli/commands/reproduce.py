"""Train the paper's grid, or a part of it, and write its tables beside the paper's own values.

Each combination of data set, attention, encoding and seed is a run folder below the results folder,
RESULTS/DATASET/ATTENTION/ENCODING/seed-N. Running the same command again trains only what is
missing. Settings are the paper's for each data set, but for the fields that are given below.
"""

from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from cellformer.basics.messages import say
from cellformer.basics.stopping import RESUME_ME
from cellformer.cli.fields import add_fields, given_fields
from cellformer.cli.parsing import Parser, add_ray, add_slots, check_ray
from cellformer.cli.parts import named_in
from cellformer.encodings.catalog import ENCODINGS
from cellformer.model.catalogs import ATTENTIONS

AXES = ("data.source", "data.encodings", "training.seed")


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer reproduce``."""
    parser.usage = "cellformer reproduce [-o RESULTS] [--datasets SET ...] [options]"
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("runs/paper"), metavar="RESULTS",
        help="the results folder: runs, and tables in its folder tables",
    )  # fmt: skip
    parser.add_argument(
        "--datasets", nargs="+", type=str, default=["gcb-hard", "molhiv", "zinc"], metavar="SET",
        help="names or paths of data sets; one that is not in the paper gets the default preset, "
        "the other GCB sets that of gcb-hard, and zinc-full that of zinc",
    )  # fmt: skip
    parser.add_argument(
        "--attentions", nargs="+", type=named_in(ATTENTIONS), default=list(ATTENTIONS.names),
        metavar="ATTENTION", help="who attends to whom",
    )  # fmt: skip
    parser.add_argument(
        "--encodings", nargs="+", type=str, default=list(ENCODINGS.names), metavar="ENCODING",
        help="positional encodings, also joined by + as in rwbspe+rwpe",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", nargs="+", type=str, default=[], metavar="SEEDS",
        help="how many, or which: 5 is 0,1,2,3,4; a list has a comma, as in 3,7 or 3, and may be "
        "of one set, as in zinc=3 gcb-hard=0,4; else the paper's: 5 for gcb-hard, 1 for all others",
    )  # fmt: skip
    parser.add_argument(
        "--epochs", type=int, default=None,
        help="of each training (short for training.epochs); by default the paper's",
    )  # fmt: skip
    parser.add_argument(
        "--minutes", type=float, default=None,
        help="most minutes of each training (short for training.max_minutes)",
    )  # fmt: skip
    add_ray(parser, "train")
    add_slots(parser)
    parser.add_argument(
        "--dry-run", action="store_true",
        help="only say what would be run, what is done, and what the rest will take",
    )  # fmt: skip
    parser.add_argument(
        "--tables-only", action="store_true",
        help="train nothing; write the tables of all runs that are in the results folder",
    )  # fmt: skip
    parser.add_argument(
        "--collect", type=Path, default=None, metavar="FOLDER",
        help="at the end copy the tables and the small text files of all runs there, without "
        "weights, as for a repository",
    )  # fmt: skip
    parser.add_argument(
        "--config", action="config", help="YAML or JSON file with any of these values"
    )
    add_fields(parser, skip=AXES)


def run(arguments: Namespace) -> int:
    """Returns 0, 1 where a training failed, 75 where it was stopped and can go on."""
    from cellformer.experiments.grid.write_tables import write_tables

    check_ray(arguments)
    if arguments.tables_only:
        write_tables(arguments.output)
        return _end(arguments)

    from cellformer.data.sources import is_source, no_source
    from cellformer.experiments.grid.grid import Grid, jobs_of
    from cellformer.experiments.grid.reproduce import reproduce
    from cellformer.experiments.running.runner import Runner, Sequential
    from cellformer.training.loop.preemption import TrainingInterrupted

    for name in arguments.datasets:
        if not is_source(name):
            raise no_source(name)
    grid = Grid(
        tuple(arguments.datasets),
        tuple(arguments.attentions),
        tuple(arguments.encodings),
        *seeds_by_set(arguments.seeds, arguments.datasets),
    )
    values = given_fields(arguments)
    for name, value in (("epochs", arguments.epochs), ("max_minutes", arguments.minutes)):
        if value is not None:
            values[f"training.{name}"] = value
    jobs = jobs_of(grid, values, arguments.output)
    if arguments.dry_run:
        from cellformer.experiments.grid.forecast import forecast

        for line in forecast(jobs):
            print(line, flush=True)
        return 0
    runner: Runner = Sequential()
    if arguments.ray is not None:
        from cellformer.experiments.ray.runner import RayRunner

        slots = arguments.cpus, arguments.gpus, arguments.retries
        runner = RayRunner(arguments.ray, *slots, arguments.output)
    try:
        tally = reproduce(jobs, arguments.output, runner)
    except (KeyboardInterrupt, TrainingInterrupted):
        done = sum(job.finished for job in jobs)
        say(
            f"interrupted; {done} of {len(jobs)} trainings are finished, the last one "
            f"up to its last step, in {arguments.output}; go on with the same command"
        )
        return RESUME_ME
    _end(arguments)
    for name, reason in tally.failed:
        say(f"{name} failed: {reason}")
    return 1 if tally.failed else 0


def seeds_by_set(
    words: Sequence[str], datasets: Sequence[str]
) -> tuple[tuple[int, ...] | None, dict[str, tuple[int, ...]]]:
    """The seeds that the option means: of all sets, if it says that, and of some sets.

    Raises ValueError where a word means none, or names a set that is not trained on.
    """
    of_all: tuple[int, ...] | None = None
    of_some: dict[str, tuple[int, ...]] = {}
    for word in words:
        name, _, seeds = word.rpartition("=")
        if not name:
            if of_all is not None:
                raise ValueError(f"--seeds says twice which are those of all sets: {word!r}")
            of_all = seeds_in(seeds)
        elif name not in datasets or name in of_some:
            raise ValueError(
                f"--seeds {word}: {name!r} must be one of the data sets, once: "
                + ", ".join(datasets)
            )
        else:
            of_some[name] = seeds_in(seeds)
    return of_all, of_some


def seeds_in(text: str) -> tuple[int, ...]:
    """The seeds that the option means; raises ValueError where it means none."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    count = "," not in text
    if not parts or not all(map(str.isdecimal, parts)) or (count and int(text) < 1):
        raise ValueError(f"--seeds must be a number of seeds or a list as 0,1,2, got {text!r}")
    return tuple(range(int(text))) if count else tuple(map(int, parts))


def _end(arguments: Namespace) -> int:
    """Collects, and says where all is."""
    from cellformer.experiments.grid.provenance import collect
    from cellformer.experiments.grid.results import read_results
    from cellformer.experiments.grid.runs_table import TABLES

    tables = arguments.output / TABLES
    print((tables / "full.md").read_text(encoding="utf-8"))
    print(f"The tables are in {tables}")
    if arguments.collect is not None:
        found = read_results(arguments.output)
        count = collect(arguments.output, arguments.collect, found)
        print(f"{count} files are copied to {arguments.collect}")
    return 0
