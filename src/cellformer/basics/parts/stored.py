"""Parts as JSON: a dataclass or a function by its place, with its arguments.

``{"part": "my.parts:Triangles", "arguments": {"size": 3}}``. Of this package only what describes a
preparation or a model can be named; the code of others only after the user named its module, see
`allow_parts`.
"""

import dataclasses
import functools
import importlib
import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from cellformer.basics.parts.catalog import called
from cellformer.basics.parts.reference import Reference
from cellformer.basics.parts.trust import resolve
from cellformer.basics.sealed import sha256_of

PACKAGE = __name__.partition(".")[0]
FLOORS = tuple(f"{PACKAGE}.{floor}." for floor in ("lifting", "encodings", "model"))
"""Whose dataclasses may be named."""
PATCHES = f"{PACKAGE}.complexes.patches"
"""Whose dataclasses may be named too."""
MATRICES = f"{PACKAGE}.complexes.matrices"
"""Whose functions may be named, as neighborhoods of arrows."""


def to_json(value: Any) -> Any:
    """A value as JSON holds it; raises ValueError, saying why, where it cannot be written."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, functools.partial) and not value.args:
        return {"part": _place(value.func), "arguments": _each(value.keywords)}
    if isinstance(value, FunctionType):
        return {"part": _place(value), "arguments": {}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        return {"part": _place(type(value)), "arguments": _each(fields)}
    raise ValueError(
        f"{value!r} cannot be kept with a run, which is how a prediction finds it again; make it "
        "a dataclass of plain values, or a function, at the top of a module"
    )


def from_json(value: Any) -> Any:
    """The inverse of `to_json`; lists become tuples.

    Raises ValueError for what was not written by it, PartRefusedError where it names code that
    the user has not named.
    """
    if isinstance(value, list):
        return tuple(from_json(item) for item in value)
    if not isinstance(value, dict):
        return value
    if set(value) != {"part", "arguments"} or not isinstance(value["arguments"], dict):
        raise ValueError(f"{value!r} describes no part")
    reference = Reference(str(value["part"]))
    if reference.module is None:
        raise ValueError(f"{reference.name!r} is no module:Name of a part")
    what = f"the part {reference.name}"
    arguments = {name: from_json(item) for name, item in value["arguments"].items()}
    if reference.module.partition(".")[0] != PACKAGE:
        return called(resolve(reference.module, reference.attribute, "the part"), arguments, what)
    return called(_own(reference.module, reference.attribute), arguments, what)


def versions(stored: Any) -> dict[str, dict[str, str]]:
    """By module, what is known of the code of all parts of a user's own in some JSON.

    The version of the distribution that it belongs to, where there is one, and the SHA-256 of
    the module's text.
    """
    told: dict[str, dict[str, str]] = {}
    for module in sorted(set(_own_modules(stored))):
        told[module] = _of_text(module)
        owners = importlib.metadata.packages_distributions().get(module.partition(".")[0], ())
        for owner in owners[:1]:
            told[module]["version"] = f"{owner} {importlib.metadata.version(owner)}"
    return told


def changed_since(known: dict[str, dict[str, str]]) -> list[str]:
    """The modules whose text is another one than when `versions` told of them.

    They have to be imported already, as `from_json` does.
    """
    return [m for m, told in known.items() if told.get("sha256") != _of_text(m).get("sha256")]


def _of_text(module: str) -> dict[str, str]:
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not Path(file).is_file():
        return {}
    return {"sha256": sha256_of(Path(file))}


def _own_modules(stored: Any) -> Iterator[str]:
    if isinstance(stored, list):
        for item in stored:
            yield from _own_modules(item)
    elif isinstance(stored, dict):
        module = str(stored.get("part", "")).partition(":")[0]
        if module and module.partition(".")[0] != PACKAGE:
            yield module
        for item in stored.values():
            yield from _own_modules(item)


def _each(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: to_json(value) for name, value in arguments.items()}


def _place(found: Any) -> str:
    module, name = found.__module__, found.__qualname__
    if "." in name or getattr(sys.modules.get(module), name, None) is not found:
        raise ValueError(
            f"{found!r} cannot be kept with a run, which is how a prediction finds it again; "
            "define it at the top of a module"
        )
    if module == "__main__":
        raise ValueError(
            f"{name} is defined in the script that runs, which a prediction cannot import; move it "
            "to a module of its own"
        )
    return f"{module}:{name}"


def _own(module: str, name: str) -> Any:
    """A dataclass or a function of this package; raises ValueError for all that is not listed."""
    if module.startswith(FLOORS) or module in (PATCHES, MATRICES):
        try:
            found = getattr(importlib.import_module(module), name, None)
        except ModuleNotFoundError:
            found = None
        listed = (
            isinstance(found, FunctionType)
            if module == MATRICES
            else isinstance(found, type) and dataclasses.is_dataclass(found)
        )
        if listed and getattr(found, "__module__", None) == module:
            return found
    raise ValueError(f"{module}:{name} is no part of this version of {PACKAGE} that a run may name")
