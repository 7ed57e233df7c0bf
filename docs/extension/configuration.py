"""The fields of the configuration as tables, read off the dataclasses."""

import dataclasses
import types
from typing import Literal, Union, get_args, get_origin, get_type_hints

from commands import parser_of

from cellformer.experiments.presets import PRESETS, flatten
from cellformer.training.config import RunConfig


def fields(part: str) -> str:
    """One part of the configuration, such as ``data``; ``""`` is what belongs to no part."""
    kind = get_type_hints(RunConfig)[part] if part else RunConfig
    words = _help()
    hints = get_type_hints(kind)
    rows = ["| field | values | default | |", "|---|---|---|---|"]
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[field.name]):
            continue
        name = f"{part}.{field.name}" if part else field.name
        values = cell(_values(hints[field.name]))
        default = _default(field.default)
        rows.append(f"| `{name}` | {values} | {default} | {cell(words[name])} |")
    return "\n".join(rows)


def presets() -> str:
    """What each preset sets otherwise than the default."""
    flat = {name: flatten(config) for name, config in PRESETS.items()}
    default = flat.pop("default")
    rows = [
        "| field | default | " + " | ".join(f"`{name}`" for name in flat) + " |",
        "|---" * (len(flat) + 2) + "|",
    ]
    for field, value in default.items():
        if any(values[field] != value for values in flat.values()):
            cells = " | ".join(_default(values[field]) for values in flat.values())
            rows.append(f"| `{field}` | {_default(value)} | {cells} |")
    return "\n".join(rows)


def _help() -> dict[str, str]:
    """What the command line says of each field."""
    actions = parser_of("train")._actions
    return {action.dest: action.help for action in actions if isinstance(action.help, str)}


def _values(hint: object) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin in (Union, types.UnionType):
        return ", ".join(_values(part) for part in inner)
    if origin is tuple:
        if inner[-1] is Ellipsis:
            return f"list of {_values(inner[0])}"
        return f"{len(inner)} of {_values(inner[0])}"
    return {
        int: "whole number",
        float: "number",
        str: "text",
        bool: "`true`, `false`",
        type(None): "`null`",
    }[hint]


def _default(value: object) -> str:
    if value is None or isinstance(value, bool):
        return f"`{str(value).lower().replace('none', 'null')}`"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`"


def cell(text: str) -> str:
    """A text as it stands in a table."""
    return text.replace("|", "\\|").replace("\n", " ")
