"""Arrays that are compared with their checksums when they are first asked for."""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

Owner = TypeVar("Owner", bound="Late")


@runtime_checkable
class LateArrays(Protocol):
    """Arrays by their names, of which nobody knows yet whether they are right."""

    def lying(self, name: str) -> NDArray[Any]:
        """One as it lies there: for its shape and its file, not for its numbers."""

    def whole(self, name: str) -> NDArray[Any]:
        """One that has been found right."""

    def some(self, complexes: Int64[np.ndarray, " chosen"]) -> Mapping[str, Any]:
        """All, or what gives their rows as they do; what belongs to these complexes is right."""


class Late:
    """What a dataclass of arrays inherits, so that its arrays can be `LateArrays`.

    Its fields are then read like any others: nobody sees a number that was not compared. Whoever
    needs the numbers of some complexes only takes them of `of`.
    """

    @classmethod
    def late(cls: type[Owner], arrays: LateArrays, **known: NDArray[Any]) -> Owner:
        """One whose arrays are late, but for those that are ``known`` to be right."""
        made = object.__new__(cls)
        made.__dict__.update(known, _late=arrays)
        return made

    @property
    def is_late(self) -> bool:
        """Whether it has late arrays."""
        return self.late_arrays is not None

    @property
    def late_arrays(self) -> LateArrays | None:
        """Those of its arrays that are late."""
        found: LateArrays | None = self.__dict__.get("_late")
        return found

    def lying(self, name: str) -> NDArray[Any]:
        """An array for its shape and its file, not for its numbers."""
        late = self.late_arrays
        if late is None or name in self.__dict__:
            found: NDArray[Any] = getattr(self, name)
            return found
        return late.lying(name)

    def of(self, complexes: Int64[np.ndarray, " chosen"]) -> Mapping[str, Any]:
        """All arrays by their names, of which the rows of these complexes may be read."""
        late, known = self.late_arrays, self.__dict__
        return known if late is None else {**late.some(complexes), **known}

    def with_arrays(self: Owner, **known: NDArray[Any]) -> Owner:
        """The same with some arrays replaced."""
        made = object.__new__(type(self))
        made.__dict__.update({**self.__dict__, **known})
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    if not TYPE_CHECKING:  # which would take any name for a field

        def __getattr__(self, name: str) -> NDArray[Any]:
            late = self.__dict__.get("_late")
            if late is None or name not in (each.name for each in fields(self)):
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            found = self.__dict__[name] = late.whole(name)
            return found
