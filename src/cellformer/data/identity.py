"""A text that names a lifting or an encoding together with everything that determines it.

Cached work is found again by this text. Where a choice cannot be told apart from a changed one
with certainty there is no text, and nothing is cached: slow is better than stale.
"""

import enum
import functools
import hashlib
import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cellformer.basics.sealed import sha256_of

PACKAGE = __name__.partition(".")[0]


def identity(value: Any) -> str | None:
    """The text, or None if a value is, or contains, something that cannot be told apart.

    Dataclasses are told by class and fields, functions by name, code, defaults and closure.
    Classes and functions from outside this package are told by the text of their module too.
    """
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | range):
        return repr(value)
    if isinstance(value, enum.Enum):
        return _of_parts(type(value), {"name": value.name})
    if isinstance(value, np.ndarray) and value.dtype != np.object_:
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"array({value.dtype.str}, {value.shape}, {digest})"
    if isinstance(value, np.generic):
        return f"{value.dtype.str}({value!r})"
    if isinstance(value, tuple | list):
        return _joined(type(value).__name__, [identity(item) for item in value])
    if isinstance(value, set | frozenset):
        items = [identity(item) for item in value]
        return _joined("set", None if None in items else sorted(map(str, items)))
    if isinstance(value, dict):
        return _joined("dict", [identity(item) for pair in value.items() for item in pair])
    if isinstance(value, functools.partial):
        return _joined("partial", [identity(p) for p in (value.func, value.args, value.keywords)])
    if isinstance(value, types.FunctionType):
        return _of_function(value)
    if isinstance(value, type):
        return _of_parts(value, {})
    if is_dataclass(value):
        return _of_parts(type(value), {f.name: getattr(value, f.name) for f in fields(value)})
    return None


def _joined(name: str, items: list[str | None] | list[str] | None) -> str | None:
    texts = [item for item in items or [] if item is not None]
    return None if items is None or len(texts) != len(items) else f"{name}({', '.join(texts)})"


def _of_parts(kind: type, parts: Mapping[str, Any]) -> str | None:
    home = _home(kind.__module__)
    texts = {name: identity(part) for name, part in parts.items()}
    if home is None or None in texts.values():
        return None
    inside = ", ".join(f"{name}={text}" for name, text in texts.items())
    return f"{home}.{kind.__qualname__}({inside})"


def _of_function(function: types.FunctionType) -> str | None:
    home = _home(function.__module__)
    code = function.__code__
    try:
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
    except ValueError:  # a variable that has no value yet
        return None
    parts = [identity(part) for part in (function.__defaults__, function.__kwdefaults__, cells)]
    constants = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
    body = f"{code.co_firstlineno}, {code.co_code.hex()}, {code.co_names}, {constants}"
    digest = hashlib.sha256(body.encode()).hexdigest()
    return None if home is None else _joined(f"{home}.{function.__qualname__}#{digest}", parts)


def _home(module: str) -> str | None:
    """A module's name, with a hash of its text unless a version number stands for it."""
    if module.partition(".")[0] in (PACKAGE, "builtins"):
        return module
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not Path(file).is_file():
        return None  # such as a notebook, whose other cells are out of sight
    return f"{module}@{sha256_of(Path(file))}"
