"""What torch.compile is told of functions, without importing the compiler."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def constant_when_compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Has compiled code keep what the function says while it is compiled.

    As `torch.compiler.assume_constant_result` does; but that imports the compiler, which takes a
    second, and which most commands do not need.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function
