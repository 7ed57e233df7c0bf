"""Parts of a user's own on the command line: those named there, and the option --import."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from jsonargparse import Namespace

from cellformer.basics.parts.catalog import Catalog
from cellformer.basics.parts.listing import own_parts
from cellformer.basics.parts.reference import Reference
from cellformer.basics.parts.trust import allow_parts
from cellformer.cli.parsing import Parser
from cellformer.data.readers.catalog import READERS
from cellformer.encodings.catalog import ENCODINGS, encoding_parts
from cellformer.lifting.catalog import LIFTINGS
from cellformer.model.catalogs import ATTENTIONS, READOUTS
from cellformer.training.catalogs import LOSSES, METRICS

FIELDS: dict[str, Catalog] = {
    "data.lifting": LIFTINGS,
    "data.encodings": ENCODINGS,
    "data.reader": READERS,
    "data.metric": METRICS,
    "attention": ATTENTIONS,
    "model.readout": READOUTS,
    "training.loss": LOSSES,
}
"""The fields of the configuration that name parts."""
OPTIONS = {
    **{f"--{name}": name for name in FIELDS},
    "--attentions": "attention",
    "--encodings": "data.encodings",
}
"""The options that name parts, each with the field that it is about."""


def add_import(parser: Parser) -> None:
    """The option --import."""
    parser.add_argument(
        "--import",
        action="append",
        type=str,
        default=[],
        metavar="MODULE",
        help="a module, or a file ending in .py, whose parts a run folder or a configuration file "
        "may use; without it none of theirs is imported (repeatable)",
    )


def named_in(catalog: Catalog) -> Callable[[str], str]:
    """The type of an option that names parts and is no field of the configuration."""

    def name(text: str) -> str:
        try:
            catalog.check(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from error
        return text

    return name


def describe_parts(parser: Parser) -> None:
    """Lists the parts in the help of each option that names one.

    Those of a user's own too, if `allow_named` has imported their modules.
    """
    for action in parser._actions:
        for option in action.option_strings:
            if option in OPTIONS:
                catalog = FIELDS[OPTIONS[option]]
                names = [*catalog.names, *own_parts(catalog.kind)]
                own = "package.module:Name(argument=value) of your own"
                action.help = f"{action.help} Choices: {', '.join([*names, own])}."


def check_fields(arguments: Namespace) -> None:
    """Raises ValueError where a field that belongs to no part of the configuration names nothing.

    All others are checked when their part is made.
    """
    for field, catalog in FIELDS.items():
        if "." not in field and isinstance(arguments.get(field), str):
            catalog.check(arguments[field])


def allow_named(arguments: Sequence[str], imported: Sequence[str]) -> None:
    """Lets parts be used that the command line names.

    Raises ImportError if there is no such module, ValueError for what is no name of a part.
    """
    allow_parts(*imported, *_modules(arguments))


def allow_for_help(arguments: Sequence[str]) -> None:
    """`allow_named` before anything is parsed, where help is asked for, which lists their parts."""
    if {"-h", "--help", "--help-all"} & set(arguments):
        allow_named(arguments, [*_imported(arguments)])


def _imported(arguments: Sequence[str]) -> Iterator[str]:
    """The values of --import."""
    for word, following in pairwise([*arguments, ""]):
        option, equals, value = word.partition("=")
        if option == "--import" and (value or following):
            yield value if equals else following


def _modules(arguments: Sequence[str]) -> Iterator[str]:
    option = ""
    for word in arguments:
        if word.startswith("--"):
            option, _, word = word.partition("=")
        if word and ":" in word and option in OPTIONS:
            for reference in _references(OPTIONS[option], word):
                if reference.module is not None:
                    yield reference.module


def _references(field: str, text: str) -> Sequence[Reference]:
    return encoding_parts(text) if field == "data.encodings" else [Reference.parse(text)]
