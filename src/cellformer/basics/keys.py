"""Checks of mappings, as files hold them, against the fields that they are to fill."""

import dataclasses
import types
from collections.abc import Collection, Mapping
from typing import get_args, get_type_hints

from cellformer.basics.suggestions import nearest


def check_keys(kind: type, values: object, where: str, prefix: str = "") -> None:
    """Raises ValueError, with the nearest right name, for a key that a dataclass lacks.

    Fields that are dataclasses themselves are looked into. ``where`` the values stand is told,
    and ``prefix`` before each name.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{where}: {prefix.rstrip('.') or 'the file'} must be a mapping of fields")
    fields = {item.name: item.type for item in dataclasses.fields(kind)}
    for key, value in values.items():
        if key not in fields:
            near = nearest(key, fields)
            hint = f"did you mean {prefix}{near}?" if near else f"known: {', '.join(fields)}"
            raise ValueError(f"{where}: there is no field {prefix}{key}; {hint}")
        inner = fields[key]
        if isinstance(inner, type) and dataclasses.is_dataclass(inner):
            check_keys(inner, value, where, f"{prefix}{key}.")


def check_complete(kind: type, values: Collection[object], where: str) -> None:
    """Raises ValueError for fields of a dataclass that are not given."""
    missing = [item.name for item in dataclasses.fields(kind) if item.name not in values]
    if missing:
        raise ValueError(f"{where} lacks {', '.join(missing)}")


def check_given(kind: type, values: Mapping[str, object], where: str, prefix: str = "") -> None:
    """Raises ValueError for a field of a dataclass that is given as None and must not be.

    Fields that are dataclasses themselves are looked into.
    """
    for name, hint in get_type_hints(kind).items():
        value = values.get(name, ...)
        if value is None and types.NoneType not in get_args(hint):
            raise ValueError(f"{where}: {prefix}{name} must not be null")
        if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, Mapping):
            check_given(hint, value, where, f"{prefix}{name}.")
