"""How a part is named in an option or a file: ``rings(max_size=8)``, ``my.parts:Triangles``."""

import ast
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_CALL = re.compile(r"(?P<name>[^()]*?)\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
FILE_ENDING = ".py"


@dataclass(frozen=True)
class Reference:
    """A listed name, or ``package.module:Name`` or ``file.py:Name``, with its arguments."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "Reference":
        """Reads ``name`` or ``name(argument=value, ...)``, with values as Python writes them.

        Raises ValueError, saying what is off.
        """
        found = _CALL.fullmatch(text.strip())
        if found is None or not found["name"]:
            raise ValueError(f"{text!r} is no name of a part, such as rings(max_size=8)")
        return cls(found["name"], _arguments(found["arguments"] or "", text))

    @property
    def module(self) -> str | None:
        """The module of a part of the user's own, or the path of its file; None: it is listed."""
        module, colon, name = self.name.rpartition(":")
        if not colon:
            return None
        words = [] if module.endswith(FILE_ENDING) else module.split(".")
        if not module or not all(_identifier(word) for word in [*words, name]):
            raise ValueError(
                f"{self.name!r} is neither package.module:Name nor file.py:Name of a part"
            )
        return module

    @property
    def attribute(self) -> str:
        """The name within the module."""
        return self.name.rpartition(":")[2]

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.name}({inside})" if inside else self.name


def module_name(module: str) -> str:
    """The name of a module, or of one in a file, as ``import`` has it."""
    return Path(module).stem if module.endswith(FILE_ENDING) else module


def _identifier(word: str) -> bool:
    return word.isidentifier() and not keyword.iskeyword(word)


def _arguments(inside: str, text: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"part({inside})", mode="eval").body
    except (SyntaxError, ValueError):
        call = None
    if (
        not isinstance(call, ast.Call)
        or call.args
        or any(each.arg is None for each in call.keywords)
        or len({each.arg for each in call.keywords}) < len(call.keywords)
    ):
        raise ValueError(
            f"the arguments in {text!r} cannot be read; write them as name=value, with commas "
            "between them"
        )
    arguments = {}
    for each in call.keywords:
        assert each.arg is not None
        try:
            arguments[each.arg] = ast.literal_eval(each.value)
        except ValueError:
            raise ValueError(
                f"the value of {each.arg} in {text!r} is no number, word in quotes, True, False, "
                "None, or list of these"
            ) from None
    return arguments
