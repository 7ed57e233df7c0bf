"""Frozen dataclasses from what a JSON file holds of them, every field checked."""

import contextlib
import dataclasses
import math
import re
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cellformer.basics.suggestions import unknown_choice

T = TypeVar("T")

_PLAIN = {float: "a finite number", int: "a whole number", bool: "true or false", str: "text",
          types.NoneType: "null"}  # fmt: skip
_LIST, _FIELDS = "a list", "a mapping of fields"


def decoded(kind: type[T], value: object, where: str, partial: bool = False) -> T:
    """An instance of a dataclass, whose fields are dataclasses, mappings, tuples or plain values.

    ``where`` the value stands is told in errors, with the field. Where it is ``partial``, fields
    may be missing that have a default. Raises ValueError for a field that is missing, unknown or
    of another type, and for what the class itself refuses.
    """
    found: T = _decoded(kind, value, where, "", partial)
    return found


def _decoded(kind: Any, value: Any, where: str, field: str, partial: bool = False) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _instance(kind, value, where, field, partial)
    if origin in (Union, types.UnionType):
        return _any_of(inner, value, where, field)
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"{_at(where, field)}: {unknown_choice('value', value, inner)}")
        return value
    if origin is Mapping:
        named = _expect(isinstance(value, dict), "a mapping", value, where, field)
        return {
            _decoded(inner[0], name, where, f"{field}.{name}"): _decoded(
                inner[1], item, where, f"{field}.{name}"
            )
            for name, item in named.items()
        }
    if origin is tuple:
        items = _expect(isinstance(value, list), _LIST, value, where, field)
        if inner[-1] is not ...:
            _expect(len(items) == len(inner), f"a list of {len(inner)}", value, where, field)
        return tuple(
            _decoded(inner[0], item, where, f"{field}[{place}]") for place, item in enumerate(items)
        )
    return _plain(kind, value, where, field)


def _any_of(kinds: tuple[Any, ...], value: Any, where: str, field: str) -> Any:
    """By the first of these kinds that it is of."""
    if value is None and types.NoneType in kinds:
        return None
    for kind in kinds:
        with contextlib.suppress(ValueError):
            return _decoded(kind, value, where, field)
        if isinstance(value, list | dict) and _words(kind) in (_LIST, _FIELDS):
            return _decoded(kind, value, where, field)  # which raises, naming what in it is off
    words = sorted(map(_words, kinds), key=lambda word: word == "null")  # which stands last
    return _expect(False, " or ".join(words), value, where, field)


def _words(kind: Any) -> str:
    """What a value of a kind is called."""
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    return _PLAIN.get(kind, _LIST if get_origin(kind) is tuple else _FIELDS)


def _instance(kind: Any, value: Any, where: str, field: str, partial: bool) -> Any:
    given = _expect(isinstance(value, dict), _FIELDS, value, where, field)
    hints = _hints(kind)
    for name in given:
        if name not in hints:
            raise ValueError(f"{_at(where, field)}: {unknown_choice('field', name, hints)}")
    needed = _without_default(kind) if partial else hints
    missing = [name for name in needed if name not in given]
    inside = f"{field}." if field else ""
    if missing:
        raise ValueError(f"{where}: the field {inside}{missing[0]} is missing")
    values = {
        name: _decoded(hints[name], item, where, inside + name, partial)
        for name, item in given.items()
    }
    try:
        return kind(**values)
    except ValueError as error:
        named = re.match(r"\w*", str(error))
        raise ValueError(
            f"{where}: {inside if named and named[0] in hints else ''}{error}"
        ) from error


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _without_default(kind: Any) -> list[str]:
    missing = dataclasses.MISSING
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is missing and field.default_factory is missing
    ]


def _plain(kind: Any, value: Any, where: str, field: str) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float:
        right = number and math.isfinite(value)
        return float(_expect(right, _PLAIN[kind], value, where, field))
    if kind not in _PLAIN:
        raise TypeError(f"no field of the type {kind} can be read")
    right = isinstance(value, kind) and (kind is not int or number)
    return _expect(right, _PLAIN[kind], value, where, field)


def _expect(right: bool, what: str, value: Any, where: str, field: str) -> Any:
    if not right:
        raise ValueError(f"{_at(where, field)} must be {what}, got {value!r}")
    return value


def _at(where: str, field: str) -> str:
    return f"{where}: {field}" if field else where
