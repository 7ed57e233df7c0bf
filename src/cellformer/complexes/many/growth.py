"""How much of each array of a store there is after so many parts, and what the next one adds."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cellformer.complexes.many.parts import StorePart
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.writing import HEADER, Array, arrays_of, kind_of


@dataclass
class GrownArray:
    """What has been written of an array."""

    dtype: np.dtype[Any]
    columns: tuple[int, ...]
    rows: int = 0

    @property
    def end(self) -> int:
        """The byte where the next row begins."""
        return HEADER + self.rows * self.dtype.itemsize * int(np.prod(self.columns))


@dataclass
class Growth:
    """What is in a store after some parts."""

    complexes: int = 0
    ranks: int = 0
    target_rank: int | None = None
    arrays: dict[str, GrownArray] = field(default_factory=dict)

    def end(self, name: str) -> int:
        """The byte of the file of an array where the next row begins."""
        return self.arrays[name].end if name in self.arrays else HEADER

    def count(self, part: StorePart) -> None:
        """Adds a part."""
        for name, entry in part.arrays.items():
            grown = self.arrays.setdefault(name, GrownArray(np.dtype(entry.dtype), entry.columns))
            if entry.rows and not grown.rows:
                grown.dtype, grown.columns = np.dtype(entry.dtype), entry.columns
            grown.rows += entry.rows
        if part.complexes and not self.complexes:
            self.target_rank = part.target_rank
        self.complexes += part.complexes
        self.ranks = part.ranks

    def new_rows(self, ragged: RaggedComplexes) -> Iterator[tuple[str, Array, int]]:
        """What some complexes add to each array: its name, rows, and what is added to them."""
        deep = ragged.to_depth(max(self.ranks, len(ragged.ranks)) - 1)
        for name, array in arrays_of(deep).items():
            kind, rank = kind_of(name), name.partition("_")[0]
            if name == "encoding_signs" and self.complexes:
                continue
            if kind in ("offsets", "face_offsets") and name in self.arrays:
                before = f"{rank}_discrete" if kind == "offsets" else f"{rank}_faces"
                yield name, array[1:], self.arrays[before].rows
            elif kind == "offsets" and self.complexes:  # which had no cells of this rank so far
                yield name, np.concatenate([np.zeros(self.complexes, np.int64), array]), 0
            else:
                yield name, array, 0
