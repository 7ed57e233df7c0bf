"""The ``cellformer`` command.

Only what parsing needs is imported here; each command imports its work when it runs, so that
``--help`` answers at once.
"""

import logging
import signal
import sys
from collections.abc import Sequence

from jsonargparse import set_parsing_settings

from cellformer import __version__
from cellformer.basics.lost import LostProcessError
from cellformer.basics.messages import say
from cellformer.basics.stopping import StopSignal
from cellformer.cli.commands import (
    baseline,
    draw,
    embed,
    encode,
    estimate,
    evaluate,
    examples,
    explore,
    export,
    fetch,
    info,
    lift,
    predict,
    prepare,
    pretrain,
    report,
    reproduce,
    train,
    tune,
)
from cellformer.cli.commas import with_brackets
from cellformer.cli.ending import command_in, failed, flushed, stopped
from cellformer.cli.help import add_short_names, to_hide
from cellformer.cli.parsing import USAGE_ERROR, Parser, check_values, guard_yaml
from cellformer.cli.parts import (
    add_import,
    allow_for_help,
    allow_named,
    check_fields,
    describe_parts,
)
from cellformer.cli.spelling import ALL, spelled
from cellformer.training.loop.allocator import ask_for_large_pages

COMMANDS = {
    "examples": examples,
    "fetch": fetch,
    "prepare": prepare,
    "train": train,
    "pretrain": pretrain,
    "baseline": baseline,
    "tune": tune,
    "evaluate": evaluate,
    "predict": predict,
    "embed": embed,
    "lift": lift,
    "draw": draw,
    "encode": encode,
    "report": report,
    "reproduce": reproduce,
    "explore": explore,
    "export": export,
    "estimate": estimate,
    "info": info,
}


def build_parser(arguments: Sequence[str]) -> Parser:
    """The parser of all commands.

    Only that which ``arguments`` name has its options, which take time to make; some of its
    defaults depend on a preset named there.
    """
    named = next((word for word in arguments if word in COMMANDS), None)
    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    guard_yaml()
    parser = Parser(
        prog="cellformer",
        description="Transformers whose tokens are the cells of graphs, molecules and meshes.",
    )
    commands = parser.add_subcommands(required=True, dest="command", metavar="COMMAND")
    vocabulary = [*COMMANDS, "--version", "--help"]
    for name, module in COMMANDS.items():
        assert module.__doc__
        command = Parser(description=module.__doc__)
        if name == named:
            module.add_arguments(command, arguments)
            add_import(command)
            describe_parts(command)
            add_short_names(command)
            vocabulary = list(command._option_string_actions)
            _shape_help(command, name, ALL in arguments)
        commands.add_subcommand(name, command, help=module.__doc__.splitlines()[0])
    Parser.vocabulary = tuple(vocabulary)
    return parser


def _shape_help(command: Parser, name: str, whole: bool) -> None:
    """The common options, or all; and a word about the others."""
    fields = any("." in option for option in command._option_string_actions)
    command.left_out = to_hide(command, whole or not fields)
    words = [a for a in command._actions if not a.option_strings]
    told = "".join(f"[{a.dest}] " if a.nargs == "?" else f"{a.dest} " for a in words)
    command.usage = command.usage or f"cellformer {name} {told}[options]"
    if fields and not whole:
        command.epilog = f"cellformer {name} {ALL} lists every option."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, 1 for failing input, 2 for a usage error, 130 for Ctrl-C.

    What was stopped and can go on, a training above all, returns 75. The program begins in
    `cellformer.cli.start`, which handles signals from before the imports of this file on.
    """
    given = with_brackets(sys.argv[1:] if arguments is None else arguments)
    logging.basicConfig(format="%(message)s", level=logging.INFO, stream=sys.stderr)
    for library in ("lightning", "botocore", "aiobotocore"):
        logging.getLogger(library).setLevel(logging.WARNING)
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without a home it tells of its own
    ask_for_large_pages()  # before anything imports PyTorch
    try:
        return flushed(_run(given))
    except (ValueError, OSError, ImportError, LostProcessError) as error:
        return failed(error)
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, StopSignal) else signal.SIGINT
        said, status = stopped(command_in(given), number)
        say(said)
        return status


def _run(given: Sequence[str]) -> int:
    try:
        if "--version" in given:
            print(f"cellformer {__version__}")
            return 0
        allow_for_help(given)
        parser = build_parser(given)
        words = spelled(given, Parser.vocabulary)
        read = parser.parse_args(words)
        check_values(parser, read)
        parsed = parser.instantiate(read)
        check_fields(parsed[parsed.command])
    except ValueError as error:  # the configuration refused its values
        say(error)
        return USAGE_ERROR
    chosen = parsed[parsed.command]
    allow_named(given, chosen["import"])
    status: int = COMMANDS[parsed.command].run(chosen)
    return status
