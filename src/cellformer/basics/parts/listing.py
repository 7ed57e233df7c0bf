"""The parts in the modules that a user named, by what they are called with."""

import inspect
import sys
from collections.abc import Iterator
from typing import Any

from cellformer.basics.parts.trust import allowed_modules

CALLED_WITH = {
    ("graph",): ("lifting",),
    ("cells",): ("encoding",),
    ("cells", "batch"): ("readout",),
    ("max_rank",): ("attention",),
    ("outputs", "targets"): ("loss", "metric"),
    ("path",): ("reader",),
}
"""By the names of its first arguments, the kinds that a part may be of."""
PLAN = ("diagram", "relations", "layer", "through")
"""What a class has whose instances are attention plans."""
MODULE = "torch.nn.modules.module:Module"
"""The base of readouts, by its place, as it is slow to import."""


def own_parts(kind: str) -> tuple[str, ...]:
    """The ``module:Name`` of all public parts of a kind in modules that the user named.

    Those in the modules of a package are listed where the package itself has them too. Nothing is
    imported.
    """
    found = (part for module in allowed_modules() for part in _public(module))
    return tuple(dict.fromkeys(_place(part) for part in found if kind in kinds_of(part)))


def kinds_of(part: Any) -> tuple[str, ...]:
    """The kinds that a function or class may be of; none where it does not look like a part."""
    names, module = {*dir(part)}, False
    called = part
    if isinstance(part, type):
        names |= set(inspect.signature(part).parameters)  # fields without a default
        if names.issuperset(PLAN):
            return ("attention",)
        places = {f"{base.__module__}:{base.__name__}" for base in part.__mro__}
        module = MODULE in places
        called = getattr(part, "forward" if module else "__call__", None)
    if not inspect.isfunction(called):
        return ()
    return tuple(
        kind
        for kind in _by_arguments(called)
        if (kind != "encoding" or "size" in names) and (kind == "readout") == module
    )


def _by_arguments(function: Any) -> tuple[str, ...]:
    names = tuple(name for name in inspect.signature(function).parameters if name != "self")
    for first in (names[:2], names[:1]):
        if first in CALLED_WITH:
            return CALLED_WITH[first]
    return ()


def _public(module: str) -> Iterator[Any]:
    """Functions and classes that are defined in a module, or within it where it is a package."""
    for name, found in vars(sys.modules[module]).items():
        home = getattr(found, "__module__", None) or ""
        inside = home == module or home.startswith(f"{module}.")
        if inside and name[0] != "_" and (inspect.isfunction(found) or inspect.isclass(found)):
            yield found


def _place(part: Any) -> str:
    return f"{part.__module__}:{part.__qualname__}"
