"""The parts of one kind that this package lists: one line each, nothing imported before its use."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, signature
from typing import Any

from cellformer.basics.parts.reference import Reference
from cellformer.basics.parts.trust import resolve
from cellformer.basics.suggestions import did_you_mean, unknown_choice


@dataclass(frozen=True)
class Listed:
    """Where a part is, and which fields of the configuration are arguments of it.

    Args:
        place: Module and name, such as ``cellformer.lifting.rings:Rings``.
        takes: For a field of the configuration, the argument that it becomes.
        factory: Whether the place is a function that makes the part, rather than the part itself.
    """

    place: str
    takes: Mapping[str, str] = field(default_factory=dict)
    factory: bool = False

    def load(self) -> Any:
        """The class or function."""
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class Catalog:
    """All listed parts of a kind, by name, and the way to those of a user's own."""

    kind: str  # for messages, such as "lifting"
    parts: Mapping[str, Listed]

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the list."""
        return tuple(self.parts)

    @property
    def settings(self) -> frozenset[str]:
        """The fields of the configuration that any of them takes."""
        return frozenset(field for part in self.parts.values() for field in part.takes)

    def check(self, text: str) -> Reference:
        """What a text names; raises ValueError for an unknown name. Nothing is imported."""
        reference = Reference.parse(text)
        if reference.module is None and reference.name not in self.parts:
            raise unknown_choice(self.kind, reference.name, [*self.names, "package.module:Name"])
        return reference

    def takes(self, text: str, setting: str) -> bool:
        """Whether a field of the configuration is of use to the part that the text names.

        A part of the user's own has its arguments in the text alone, and a listed one those that
        the text gives.
        """
        reference = self.check(text)
        if reference.module is not None:
            return False
        argument = self.parts[reference.name].takes.get(setting)
        return argument is not None and argument not in reference.arguments

    def make(self, text: str, **settings: Any) -> Any:
        """The part that a text names: a class called with its arguments, or a function.

        ``settings`` are fields of the configuration; those that a listed part takes become
        arguments, unless they are None or the text gives the argument. Raises ValueError for
        arguments that the part does not take, and as `resolve` does.
        """
        reference = self.check(text)
        factory = reference.module is None and self.parts[reference.name].factory
        found, arguments = self.find(text, **settings)
        return called(found, arguments, f"the {self.kind} {reference.name}", factory)

    def find(self, text: str, **settings: Any) -> tuple[Any, dict[str, Any]]:
        """The class or function that a text names, and its arguments, as `make` calls it.

        For kinds of parts that are given more than the text and the configuration say.
        """
        reference = self.check(text)
        if reference.module is not None:
            found = resolve(reference.module, reference.attribute, f"the {self.kind}")
            return found, dict(reference.arguments)
        listed = self.parts[reference.name]
        given = {
            argument: settings[setting]
            for setting, argument in listed.takes.items()
            if settings.get(setting) is not None
        }
        return listed.load(), {**given, **reference.arguments}


def _check_names(found: Any, arguments: Mapping[str, Any], what: str, whole: bool) -> None:
    """Raises ValueError for an argument of another name than those that are taken.

    Those are all, or, unless ``whole``, the ones with a default: the others are given at a call.
    """
    try:
        taken = signature(found).parameters
    except ValueError:  # some that are written in C have none
        return
    if any(each.kind is Parameter.VAR_KEYWORD for each in taken.values()):
        return
    for name in arguments:
        if name not in taken:
            known = ", ".join(
                other
                for other, each in taken.items()
                if whole or each.default is not Parameter.empty
            )
            near = did_you_mean(name, taken)
            raise ValueError(f"{what} has no argument {name!r}{near} (it takes {known or 'none'})")


def called(found: Any, arguments: Mapping[str, Any], what: str, factory: bool = False) -> Any:
    """An instance of a class, what a factory makes, or a function with some arguments given.

    Raises ValueError, saying ``what``, where the arguments do not fit.
    """
    whole = isinstance(found, type) or factory
    _check_names(found, arguments, what, whole)
    if not whole:
        return partial(found, **arguments) if arguments else found
    try:
        return found(**arguments)
    except TypeError as error:
        raise ValueError(f"{what} cannot be made: {error}") from error
