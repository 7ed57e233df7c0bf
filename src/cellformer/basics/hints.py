"""Whether a value that was read from a file is what the type of a field says."""

from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin


def check_type(name: str, value: object, hint: Any) -> None:
    """Raises ValueError, saying what a field needs, for a value of another type."""
    if not _fits(value, hint):
        raise ValueError(f"{name} must be {_words(hint)}, got {value!r}")


def _fits(value: object, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, inner[0]) for item in value)
    return callable(value) if origin is Callable else isinstance(value, hint)


def _words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(inner)}"
    if origin in (Union, UnionType):
        return " or ".join(map(_words, inner))
    if origin is tuple:
        return f"a list, each {_words(inner[0])}"
    return {NoneType: "null", str: "a text", bool: "true or false"}.get(hint, "a part")
