"""The help of every command, as the command line prints it."""

import os
import re

from cellformer.cli.main import COMMANDS, build_parser
from cellformer.cli.parsing import Parser

CONFIGURED = re.compile(
    r"^ +--(data|model|optimizer|training)[ .].*?(?=^ {0,3}\S|^$|\Z)", re.M | re.S
)
GROUP = re.compile(r"^[A-Z][^\n]*:\n+(?=[A-Z]|\Z)", re.M)


def commands() -> str:
    """A section for each command. Fields of the configuration are left to their own page."""
    os.environ["COLUMNS"] = "82"
    sections = []
    for name in COMMANDS:
        command = parser_of(name)
        told = command.format_help()
        configured = any("." in option for option in command._option_string_actions)
        command.usage = f"cellformer {name} {_positionals(command)}[options]"
        told = command.format_help()
        sections.append(f"## `cellformer {name}`\n\n```text\n{_short(told)}\n```\n")
        if configured:
            sections.append(
                "Besides, it takes fields of the [configuration](configuration.md) as options.\n"
            )
    return "\n".join(sections)


def parser_of(name: str) -> Parser:
    """The parser of one command."""
    parser = build_parser([name])
    (subcommands,) = (action for action in parser._actions if action.dest == "command")
    command: Parser = subcommands.choices[name]
    return command


def _positionals(command: object) -> str:
    words = [a for a in command._actions if not a.option_strings]  # type: ignore[attr-defined]
    return "".join(f"{a.dest} " if a.nargs is None else f"[{a.dest}] " for a in words)


def _short(told: str) -> str:
    """The help without the fields of the configuration, and without groups left empty by that."""
    without = CONFIGURED.sub("", told)
    return GROUP.sub("", without.strip() + "\n").strip()
