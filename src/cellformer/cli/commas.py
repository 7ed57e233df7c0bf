"""Several values of one option, with commas between them."""

import json
from collections.abc import Sequence
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from cellformer.cli.fields import field_types


def with_brackets(arguments: Sequence[str]) -> list[str]:
    """``--data.fractions 0.7,0.1,0.2`` as ``--data.fractions [0.7,0.1,0.2]``, and the like.

    The parser reads only the latter, which is left as it is; a name with a comma needs it.
    """
    options = _options()
    read: list[str] = []
    waiting: str | None = None  # the option whose value comes next
    for word in arguments:
        name, equals, value = word.partition("=")
        if waiting is not None and not word.startswith("--"):
            read.append(_bracketed(word, options[waiting]))
            waiting = None
        elif name in options and equals:
            read.append(f"{name}={_bracketed(value, options[name])}")
        else:
            read.append(word)
            waiting = word if word in options else None
    return read


def _bracketed(value: str, hints: tuple[Any, ...]) -> str:
    words = [word for hint in hints if get_origin(hint) is Literal for word in get_args(hint)]
    if value in words or value.lstrip().startswith("["):
        return value
    parts = [part.strip() for part in value.split(",")]
    (items,) = (get_args(hint)[0] for hint in hints if get_origin(hint) is tuple)
    return json.dumps(parts) if items is str else f"[{','.join(parts)}]"


@cache
def _options() -> dict[str, tuple[Any, ...]]:
    """The options of `RunConfig` that take several values, with all that each accepts."""
    found = {}
    for field, hint in field_types().items():
        hints = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        if any(get_origin(each) is tuple for each in hints):
            found[f"--{field}"] = hints
    return found
