"""What is recorded of the arrays of a store, and of those of thousands of stores in few bytes."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from cellformer.complexes.many.writing import ArrayKind

DIGEST = 32
"""Bytes of a SHA-256."""


@dataclass(frozen=True)
class StoredArray:
    """What a manifest records of an array."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int  # of the whole file
    sha256: str  # of its numbers

    @property
    def start(self) -> int:
        """The byte of the file where its numbers begin."""
        return self.bytes - math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Layout:
    """What the stores of one set have in common."""

    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]  # the shape of a row of each array


@dataclass(frozen=True, eq=False)
class PackedArrays(Mapping[str, StoredArray]):
    """The arrays of one of many stores: 48 bytes each, beside what all stores share."""

    layout: Layout
    rows: Int64[np.ndarray, " array"]
    sizes: Int64[np.ndarray, " array"]
    digests: bytes

    @classmethod
    def of(cls, arrays: Mapping[str, StoredArray]) -> "PackedArrays":
        """Raises ValueError for an array without rows, or a checksum that is none."""
        digests = {name: bytes.fromhex(each.sha256) for name, each in arrays.items()}
        for name, each in arrays.items():
            if not each.shape or len(digests[name]) != DIGEST:
                raise ValueError(f"{name} has no rows or no checksum")
        layout = _shared(
            tuple(arrays),
            tuple(each.dtype for each in arrays.values()),
            tuple(each.shape[1:] for each in arrays.values()),
        )
        return cls(
            layout,
            np.array([each.shape[0] for each in arrays.values()], np.int64),
            np.array([each.bytes for each in arrays.values()], np.int64),
            b"".join(digests.values()),
        )

    def __getitem__(self, name: str) -> StoredArray:
        if name not in self.layout.names:
            raise KeyError(name)
        place = self.layout.names.index(name)
        return StoredArray(
            self.layout.dtypes[place],
            (int(self.rows[place]), *self.layout.columns[place]),
            int(self.sizes[place]),
            self.digests[DIGEST * place : DIGEST * (place + 1)].hex(),
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.layout.names)

    def __len__(self) -> int:
        return len(self.layout.names)


@dataclass(frozen=True, eq=False)
class Kinds(Mapping[str, ArrayKind]):
    """The kinds of arrays of a store, and of those that it lacks."""

    recorded: PackedArrays
    absent: Mapping[str, NDArray[Any]]

    def __getitem__(self, name: str) -> ArrayKind:
        if name in self.absent:
            array = self.absent[name]
            return ArrayKind(array.shape, array.dtype)
        stored = self.recorded[name]
        return ArrayKind(stored.shape, np.dtype(stored.dtype))

    def __iter__(self) -> Iterator[str]:
        yield from self.recorded
        yield from self.absent

    def __len__(self) -> int:
        return len(self.recorded) + len(self.absent)


@cache
def _shared(
    names: tuple[str, ...], dtypes: tuple[str, ...], columns: tuple[tuple[int, ...], ...]
) -> Layout:
    """One object for all stores that are alike."""
    return Layout(names, dtypes, columns)
