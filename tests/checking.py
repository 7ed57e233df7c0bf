"""Decides how a function's signature is checked while tests run."""

import functools
import inspect
import typing

import jaxtyping
from beartype import beartype

_with_shapes = jaxtyping.jaxtyped


def install():
    """The import hook gives functions without shapes to beartype alone, which is far quicker.

    Jaxtyping binds the arguments of each call by their names, in plain Python, and checks them
    again together with the result, to compare sizes that have names. Where no annotation names
    one, beartype finds the same faults.
    """
    jaxtyping.jaxtyped = checked


def checked(function=None, *, typechecker):
    """A decorator in the place of `jaxtyping.jaxtyped`."""
    if function is None:
        return functools.partial(checked, typechecker=typechecker)
    if inspect.isfunction(function):
        annotations = function.__annotations__.values()
        if not any(map(_may_have_shape, annotations)):
            return beartype(function)
    return _with_shapes(function, typechecker=typechecker)


def _may_have_shape(annotation):
    """Also what is quoted, which nobody has read yet."""
    if isinstance(annotation, str | typing.ForwardRef):
        return True
    if inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray):
        return True
    return any(map(_may_have_shape, typing.get_args(annotation)))
