"""Frozen dataclasses from what a JSON file holds of them, every field checked."""

import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cellformer.basics.suggestions import unknown_choice

T = TypeVar("T")


def decoded(kind: type[T], value: object, where: str) -> T:
    """An instance of a dataclass, whose fields are dataclasses, mappings, tuples or plain values.

    ``where`` the value stands is told in errors, with the field. Raises ValueError for a field that
    is missing, unknown or of another type, and for what the class itself refuses.
    """
    found: T = _decoded(kind, value, where, "")
    return found


def _decoded(kind: Any, value: Any, where: str, field: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _instance(kind, value, where, field)
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in inner:
            return None
        kind = next(each for each in inner if each is not types.NoneType)
        return _decoded(kind, value, where, field)
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
        items = _expect(isinstance(value, list), "a list", value, where, field)
        return tuple(
            _decoded(inner[0], item, where, f"{field}[{place}]") for place, item in enumerate(items)
        )
    return _plain(kind, value, where, field)


def _instance(kind: Any, value: Any, where: str, field: str) -> Any:
    given = _expect(isinstance(value, dict), "a mapping of fields", value, where, field)
    hints = get_type_hints(kind)
    for name in given:
        if name not in hints:
            raise ValueError(f"{_at(where, field)}: {unknown_choice('field', name, hints)}")
    missing = [name for name in hints if name not in given]
    inside = f"{field}." if field else ""
    if missing:
        raise ValueError(f"{where}: the field {inside}{missing[0]} is missing")
    values = {
        name: _decoded(hints[name], item, where, inside + name) for name, item in given.items()
    }
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"{where}: {inside}{error}") from error


def _plain(kind: Any, value: Any, where: str, field: str) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float:
        right = number and math.isfinite(value)
        return float(_expect(right, "a finite number", value, where, field))
    if kind is int:
        right = isinstance(value, int) and number
        return _expect(right, "a whole number", value, where, field)
    if kind is bool:
        return _expect(isinstance(value, bool), "true or false", value, where, field)
    if kind is str:
        return _expect(isinstance(value, str), "text", value, where, field)
    raise TypeError(f"no field of the type {kind} can be read")


def _expect(right: bool, what: str, value: Any, where: str, field: str) -> Any:
    if not right:
        raise ValueError(f"{_at(where, field)} must be {what}, got {value!r}")
    return value


def _at(where: str, field: str) -> str:
    return f"{where}: {field}" if field else where
