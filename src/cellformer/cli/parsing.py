"""A parser whose errors name the nearest right word."""

import re
import sys
from argparse import Action, HelpFormatter
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn, get_args

import yaml
from jsonargparse import ArgumentParser, Namespace, get_loader, set_loader

from cellformer.basics.aliases import check_aliases, check_keys_once
from cellformer.basics.messages import say
from cellformer.basics.sealed import without_checksum
from cellformer.basics.suggestions import nearest
from cellformer.cli.field_words import plain
from cellformer.cli.help import Formatter, hidden
from cellformer.cli.wording import as_options
from cellformer.training.config import DataConfig, PreparationConfig, RunConfig

USAGE_ERROR = 2
LOAD_YAML = get_loader("yaml")


_NO_FIELD = re.compile(r"does not accept option '([\w.-]+)'")


class Parser(ArgumentParser):
    """jsonargparse's parser with one-line errors and suggestions for misspelt options.

    An option has to be written whole: what an abbreviation means today, a new option may change.
    """

    vocabulary: tuple[str, ...] = ()
    left_out: Sequence[Action] = ()
    """Options that help does not show."""
    reading: str = ""
    """What errors begin with: the configuration file at hand, if any."""
    fields_of: ClassVar[dict[str, str]] = {}
    """The file of each field that a configuration file gave."""

    def __init__(self, **settings: Any):
        super().__init__(allow_abbrev=False, formatter_class=Formatter, **settings)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Prints what is wrong and ends with exit code 2."""
        unknown = _NO_FIELD.search(message)
        if unknown and unknown[1] in self.fields_of:
            near = suggestion(message, self.vocabulary).replace("--", "")
            told = f"there is no field {unknown[1]} of this command"
            say(f"{self.fields_of[unknown[1]]}: {told}{near}")
        else:
            told = plain(message) if self.reading else as_options(message, self.vocabulary)
            say(f"{self.reading}{told}{suggestion(message, self.vocabulary)}")
        sys.exit(USAGE_ERROR)

    def parse_path(self, path: Any, *arguments: Any, **settings: Any) -> Namespace:
        """The values of a configuration file, which errors name."""
        self.reading = f"{path}: "
        try:
            read: Namespace = super().parse_path(path, *arguments, **settings)
            Parser.fields_of = {**self.fields_of, **dict.fromkeys(read.keys(), str(path))}
            return read
        except UnicodeDecodeError as error:
            self.error(f"its byte {error.start} is not of UTF-8; save it as UTF-8", error)
        finally:
            self.reading = ""

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse's own keeps it to itself where the message cannot be written
        (file or sys.stderr).write(message)

    def format_help(self, formatter: HelpFormatter | None = None) -> str:
        """The help, in which a path is called a path."""
        with hidden(self.left_out):
            told: str = super().format_help(formatter)
        return re.sub(r"<class\s+'Path'>", "path", told)


def guard_yaml() -> None:
    """Lets --config take the config.json of a run, and a copy of it that was edited.

    Refuses files whose aliases make them grow without bound, and those that give a value twice.
    """
    set_loader("yaml", _values, (yaml.YAMLError,))


def _values(text: str) -> Any:
    check_aliases(text)
    check_keys_once(text)
    return without_checksum(LOAD_YAML(text))


def check_values(parser: Parser, read: Namespace) -> None:
    """Raises ValueError where a part of the configuration is no fields, or a field is null.

    Also where a text has a null character, as no name or path can.

    ``parser``, which is that of all commands, takes null for every field. Those that have a value
    when nobody gives one, and whose type does not know null, need one.
    """
    assert parser._subcommands_action is not None
    chosen, command = read[read.command], parser._subcommands_action.choices[read.command]
    for part in fields(RunConfig):
        found = chosen.get(part.name, None)
        of_fields = is_dataclass(part.default_factory) and part.name in chosen
        if of_fields and not isinstance(found, Namespace):
            shown = "null" if found is None else found
            raise ValueError(
                f"{_where(part.name)} has fields, so it cannot be {shown}; leave it out, or give "
                "it some, as in {training: {epochs: 5}}"
            )
    for action in command._actions:
        if "\0" in str(chosen.get(action.dest, "")):
            raise ValueError(f"{_where(action.dest)} has a null character in it; take it out")
        allowed = action.default is None or type(None) in get_args(
            getattr(action, "_typehint", None)
        )
        if not allowed and chosen.get(action.dest, action.default) is None:
            told = "cannot be null; leave it out, or give it a value"
            raise ValueError(f"{_where(action.dest)} {told}")


def _where(field: str) -> str:
    file = Parser.fields_of.get(field)
    return f"{file}: {field}" if file else f"--{field}"


def add_run(parser: Parser) -> None:
    """The argument of a trained run."""
    parser.add_argument(
        "run",
        type=Path,
        help="a run folder that cellformer train made, or the name of a model that comes with the "
        "package (cellformer-base)",
    )


def add_output(parser: Parser, what: str) -> None:
    """The option -o of a command that writes a table."""
    parser.add_argument(
        "-o", "--output", type=Path, default=None, help=f"{what} (default: standard output)"
    )


def free_output(arguments: Namespace) -> Path | None:
    """The file of -o, None for standard output; FileExistsError where it is and may not go."""
    output: Path | None = None if arguments.output == Path("-") else arguments.output
    if output is not None and output.exists() and not arguments.overwrite:
        raise FileExistsError(f"{output} exists; choose another name or --overwrite")
    return output


def add_weights(parser: Parser) -> None:
    """The options of a command that opens a trained model and rows for it."""
    parser.add_argument(
        "--smiles-column",
        type=str,
        default=None,
        help="the column of SMILES strings (default: that of the run, or by the usual names)",
    )
    parser.add_argument(
        "--weights",
        choices=("best", "last"),
        default="best",
        help="those of the best validation epoch or of the last epoch",
    )


def add_model(parser: Parser) -> None:
    """The options of a command that has a trained model read rows."""
    add_weights(parser)
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "gpu"),
        default=None,
        help="where the model runs (default: where it was trained, if that is there)",
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=None,
        help="complexes at a time (default: those of a step of its training)",
    )


def add_input(parser: Parser) -> None:
    """The options of a command that has a trained model predict rows."""
    add_model(parser)
    parser.add_argument(
        "--interval",
        type=float,
        default=None,
        metavar="LEVEL",
        help="for regression: the probability with which intervals are to hold the true value, "
        "such as 0.9",
    )
    parser.add_argument(
        "--calibrate",
        type=str,
        default=None,
        metavar="FILE",
        help="labeled rows that the run has not seen, to calibrate intervals on (default: the "
        "run's validation part, which also chose its best epoch)",
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=None,
        metavar="N",
        help="answers of each model, with the dropout of its training, whose spread is the "
        "uncertainty (default: one, without dropout)",
    )


def add_ray(parser: Parser, what: str) -> None:
    """The option --ray; ``what`` is done on the cluster."""
    parser.add_argument(
        "--ray",
        type=str,
        default=None,
        metavar="ADDRESS",
        help=f"{what} by Ray: local for this machine, or the address of a cluster (HOST:6379, or "
        "auto on one of its machines)",
    )


def add_config_and_target(parser: Parser) -> None:
    """The options --config and --target of a command that trains."""
    parser.add_argument(
        "--config", action="config", help="YAML or JSON file with any of the values below"
    )
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        type=str,
        help="a column to learn; repeat it for several (short for data.target)",
    )


OF_FEATURES = frozenset(
    ("features", "molecule_descriptors", "descriptors", "censored", "ring_features", "hodge_parts")
)
"""Fields of a preparation that change features and descriptors, and neither cells nor encodings."""


def add_preparation(
    parser: Parser, defaults: PreparationConfig, skip: frozenset[str] = frozenset()
) -> None:
    """The options of a command that makes complexes and trains on none."""
    parser.add_class_arguments(PreparationConfig, "data", skip=set(skip))
    names = (field.name for field in fields(PreparationConfig) if field.name not in skip)
    parser.set_defaults({f"data.{name}": getattr(defaults, name) for name in names})


def data_in(arguments: Namespace, data: DataConfig) -> DataConfig:
    """Where complexes come from, with the options of `add_preparation`."""
    names = (field.name for field in fields(PreparationConfig))
    return replace(data, **{name: getattr(arguments.data, name) for name in names})


def data_config_in(arguments: Namespace, source: str) -> DataConfig:
    """The data of a command with `add_config_and_target`."""
    given = arguments.get("target", ())  # one word where a file says so
    target = ((given,) if isinstance(given, str) else tuple(given)) or arguments.data.target
    data: DataConfig = replace(arguments.data, source=source, target=target)
    return data


def run_config_in(arguments: Namespace, source: str) -> RunConfig:
    """The training of a command that has all fields of `RunConfig` too."""
    return RunConfig(
        data_config_in(arguments, source),
        arguments.attention,
        arguments.model,
        arguments.optimizer,
        arguments.training,
        arguments.objectives,
    )


OF_RAY = {"cpus": 1.0, "gpus": 0.0, "retries": 3}
"""Options that are of use on a cluster alone, with their defaults."""


def check_ray(arguments: Namespace) -> None:
    """Raises ValueError for an option that is of use with --ray only."""
    for name, default in OF_RAY.items():
        if arguments.ray is None and arguments.get(name, default) != default:
            raise ValueError(f"--{name} is of use with --ray only")


def add_slots(parser: Parser, of: str = "training") -> None:
    """What one training, or one process of it, takes on the cluster."""
    parser.add_argument(
        "--cpus", type=float, default=OF_RAY["cpus"], help=f"cores, and threads, per {of}"
    )
    shared = "; 0.5 lets two share one" if of == "training" else ": 0 or 1"
    parser.add_argument("--gpus", type=float, default=OF_RAY["gpus"], help=f"GPUs per {of}{shared}")
    parser.add_argument(
        "--retries",
        type=int,
        default=OF_RAY["retries"],
        help=f"how often a {of} that lost its machine, or was lost itself, is replaced",
    )


def _near_option(word: str, known: Iterable[str]) -> str | None:
    """The nearest option; of a field, another of its part where there is such a part.

    What is a field without its part is that field, where there is one alone.
    """
    part, dot, name = word.rpartition(".")
    beside = [option for option in known if option.startswith(part + dot)] if dot else []
    if beside:
        near = nearest(name, [option.removeprefix(part + dot) for option in beside])
        return near and part + dot + near
    fields_of_it = [option for option in known if option.endswith(f".{word.replace('-', '_')}")]
    return fields_of_it[0] if len(fields_of_it) == 1 else nearest(word, known)


def suggestion(message: str, vocabulary: Iterable[str]) -> str:
    """The nearest known word for each unknown option or choice that a parser's message names.

    That of an option is an option of ``vocabulary``, that of a choice another choice.
    """
    known = {word.lstrip("-"): word for word in vocabulary}
    hints = []
    for groups in re.findall(r"--([\w.-]+)|option '([\w.-]+)'", message):
        word = next(filter(None, groups))
        near = None if word in known else _near_option(word, known)
        if near:
            hints.append(known[near])
    for word, listed in re.findall(r"invalid choice: '?([\w.-]+)'? \(choose from ([^)]*)", message):
        near = nearest(word, re.findall(r"[\w.-]+", listed))
        hints += [near] if near else []
    return f"; did you mean {' and '.join(hints)}?" if hints else ""
