"""Fields of the configuration as options that change only what they name."""

import argparse
import dataclasses
from collections.abc import Collection
from typing import Any, get_type_hints

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser
from cellformer.experiments.presets import flatten
from cellformer.training.config import RunConfig


def field_types() -> dict[str, Any]:
    """The type of every field of the parts of `RunConfig`, by its dotted name."""
    return {
        f"{part}.{name}": hint
        for part, kind in get_type_hints(RunConfig).items()
        if dataclasses.is_dataclass(kind)
        for name, hint in get_type_hints(kind).items()
    }


def add_fields(parser: Parser, skip: Collection[str]) -> None:
    """An option for each field of `RunConfig` but those to skip, without a default.

    So the configuration that they change may be another one for each data set.
    """
    described = Parser()  # as cellformer train has them
    described.add_class_arguments(RunConfig, None)
    help_of = {action.dest: action.help for action in described._actions}
    groups = {}
    for field, hint in field_types().items():
        part = field.partition(".")[0]
        if part not in groups:
            groups[part] = parser.add_argument_group(
                f"{part}: values other than the preset's", description=None
            )
        if field not in skip:
            groups[part].add_argument(
                f"--{field}", type=hint, default=argparse.SUPPRESS, help=help_of[field]
            )


def given_fields(arguments: Namespace) -> dict[str, Any]:
    """Those that were given, by their dotted names."""
    given = {}
    for field in flatten(RunConfig()):
        part, _, name = field.partition(".")
        inner = arguments.get(part)
        if isinstance(inner, Namespace) and name in inner:
            given[field] = inner[name]
    return given
