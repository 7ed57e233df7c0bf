"""Checks of values by their names, for what a user may choose.

A name may have dots, such as that of a field of the configuration: ``positive(**{"data.radius":
radius})``. What may be left out is checked only where it is given.
"""

import math
from numbers import Integral
from typing import Any

from cellformer.basics.suggestions import unknown_choice


def at_least(least: int, **values: object) -> None:
    """Raises ValueError for a value that is no whole number, or a smaller one."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
        if int(value) < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


def positive(**values: int | float) -> None:
    """Raises ValueError for a number that is zero, negative, infinite or none."""
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}")


def not_negative(**values: int | float) -> None:
    """Raises ValueError for a number that is negative, infinite or none."""
    for name, value in values.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} must be finite and not negative, got {value}")


def share(**values: int | float) -> None:
    """Raises ValueError for a number that is not in [0, 1)."""
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name} must be in [0, 1), got {value}")


def one_of(choices: tuple[Any, ...], **values: object) -> None:
    """Raises ValueError, with the nearest choice, for a value that is not among the choices."""
    for name, value in values.items():
        if value not in choices:
            raise unknown_choice(name, value, choices)
