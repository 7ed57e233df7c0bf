"""Decides how a function's signature is checked while tests run."""

import functools
import inspect
import typing
from collections import Counter
from dataclasses import is_dataclass

import jaxtyping
import torch
from beartype import beartype

ALWAYS, EVERY = 5, 1000
"""Calls of a function that each test has checked, and of the others, one of so many."""

_with_shapes = jaxtyping.jaxtyped
_calls = Counter()  # in this test, by code


def install():
    """The import hook has calls checked as `checked` does."""
    jaxtyping.jaxtyped = checked


def begin_test():
    """The first calls are checked anew."""
    _calls.clear()


def checked(subject=None, *, typechecker):
    """A decorator in the place of `jaxtyping.jaxtyped`, which would take a third of all time.

    It binds the arguments of each call by their names, in plain Python, and checks them again
    together with the result, to compare sizes that have names. Where no annotation names one,
    beartype finds the same faults. A function that a test calls thousands of times is seldom given
    other shapes then than at first.
    """
    if subject is None:
        return functools.partial(checked, typechecker=typechecker)
    if torch.compiler.is_compiling():  # a function within one that is traced
        return subject
    if inspect.isfunction(subject):
        return _sometimes(subject, typechecker) if subject.__annotations__ else subject
    if is_dataclass(subject) and "__init__" in vars(subject):
        subject.__init__ = _sometimes(subject.__init__, typechecker)
    return subject


def _sometimes(function, typechecker):
    """The function, whose calls are checked as long as they are among the first of a test."""
    code, made = function.__code__, []

    def strict():
        if not made:  # no cache of functools, which torch.export could not look into
            shaped = any(map(_may_have_shape, function.__annotations__.values()))
            made.append(
                _with_shapes(function, typechecker=typechecker) if shaped else beartype(function)
            )
        return made[0]

    @functools.wraps(function)
    def called(*arguments, **named):
        if torch.compiler.is_compiling():
            return function(*arguments, **named)
        _calls[code] += 1
        if _calls[code] > ALWAYS and _calls[code] % EVERY:
            return function(*arguments, **named)
        return strict()(*arguments, **named)

    return called


def _may_have_shape(annotation):
    """Also what is quoted, which nobody has read yet."""
    if isinstance(annotation, str | typing.ForwardRef):
        return True
    if inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray):
        return True
    return any(map(_may_have_shape, typing.get_args(annotation)))
