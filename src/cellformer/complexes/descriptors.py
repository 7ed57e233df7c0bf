"""What is known of whole complexes, beside what is known of their cells."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64, UInt8

from cellformer.complexes.late import Late


@dataclass(frozen=True, eq=False)
class Descriptors(Late):
    """Numbers that belong to whole complexes, row i to complex i.

    Counts are small whole numbers, such as those of a molecule's fragments, kept in a byte each;
    values are measured, NaN where one is unknown. Either kind may have no columns.
    """

    counts: UInt8[np.ndarray, "complex count"]
    values: Float32[np.ndarray, "complex value"]

    def __len__(self) -> int:
        return len(self.lying("counts"))

    @property
    def columns(self) -> tuple[int, int]:
        """The number of counts and of values."""
        return self.lying("counts").shape[1], self.lying("values").shape[1]

    def take(self, rows: Int64[np.ndarray, " chosen"]) -> "Descriptors":
        """Those of some complexes, in this order."""
        own = self.of(rows)
        return Descriptors(own["counts"][rows], own["values"][rows])

    def joined(self) -> Float32[np.ndarray, "complex descriptor"]:
        """Counts and values side by side, as a model reads them."""
        return np.concatenate([self.counts.astype(np.float32), self.values], axis=1)


def concatenate_descriptors(parts: Sequence[Descriptors | None]) -> Descriptors | None:
    """Those of one collection after those of the other, or none if none has any.

    Raises ValueError where the columns differ, or only some have descriptors.
    """
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if len(present) < len(parts) or len({part.columns for part in present}) > 1:
        told = [None if part is None else part.columns for part in parts]
        first = next(number for number, each in enumerate(told) if each != told[0])
        raise ValueError(
            f"complexes to be put together have different numbers of (counts, values) as "
            f"descriptors: {told[0]} in part 0, {told[first]} in part {first}"
        )
    return Descriptors(
        np.concatenate([part.counts for part in present]),
        np.concatenate([part.values for part in present]),
    )


def with_values(
    given: Descriptors | None, values: Float32[np.ndarray, "complex value"] | None
) -> Descriptors | None:
    """The same counts with other values, if there are any."""
    if values is None:
        return given
    if given is None:
        return Descriptors(np.zeros((len(values), 0), np.uint8), values)
    return given.with_arrays(values=values)


def with_columns(
    given: Descriptors | None, columns: Float32[np.ndarray, "complex column"] | None
) -> Descriptors | None:
    """The same descriptors with more values after theirs, if there are any."""
    if given is None or columns is None:
        return with_values(given, columns)
    return given.with_arrays(values=np.concatenate([given.values, columns], axis=1))
