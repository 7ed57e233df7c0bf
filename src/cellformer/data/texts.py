"""Many texts, such as the SMILES of all molecules of a set, without a Python object for each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import overload

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from cellformer.data.mapped import mapped

FEW = 1 << 14
"""Texts that are kept as Python has them, and those that are Python's at the same time."""
KIND = pa.large_string()


@dataclass(frozen=True, eq=False)
class Texts(Sequence[str]):
    """Texts in Arrow's arrays, which may lie in a mapped file; a slice is a tuple."""

    column: pa.ChunkedArray  # of `KIND`, without missing ones

    def __len__(self) -> int:
        return len(self.column)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        """Raises IndexError for a text that there is not."""
        found = self.column[place]
        return tuple(found.to_pylist()) if isinstance(place, slice) else str(found.as_py())

    def __iter__(self) -> Iterator[str]:
        for piece in pieces(self.column):
            yield from piece.to_pylist()


@dataclass(frozen=True, eq=False)
class ChosenTexts(Sequence[str]):
    """Some of many texts, found when they are asked for; a slice is a tuple."""

    texts: Sequence[str]
    places: Int64[np.ndarray, " chosen"]

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        """Raises IndexError for a text that there is not."""
        if isinstance(place, slice):
            return tuple(self.texts[each] for each in self.places[place].tolist())
        return self.texts[int(self.places[place])]


def pieces(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """A column, `FEW` cells at a time, or fewer."""
    for chunk in column.chunks:
        for start in range(0, len(chunk), FEW):
            yield chunk.slice(start, FEW)


def trimmed(column: pa.ChunkedArray) -> Sequence[str]:
    """The texts without outer blanks, empty where one is missing; few as a tuple.

    Where there are no outer blanks they are those of the column, not copied.
    """
    parts = []
    for piece in pieces(column):
        texts = piece.to_pylist()
        plain = [(text or "").strip() for text in texts]
        parts.append(piece if plain == texts else pa.array(plain, KIND))
    found = Texts(pa.chunked_array(parts, KIND))
    return found if len(found) > FEW else tuple(found)


def as_before(before: Sequence[str], texts: Iterable[str]) -> Sequence[str]:
    """Texts that take the place of others, kept as these are, but in a file where they are many."""
    return _kept(texts) if isinstance(before, Texts) else tuple(texts)


def joined_texts(lists: Sequence[Sequence[str]]) -> Sequence[str]:
    """One list of texts after the other."""
    if not any(isinstance(each, Texts) for each in lists):
        return tuple(text for each in lists for text in each)
    columns = [each if isinstance(each, Texts) else _kept(each) for each in lists]
    return Texts(pa.chunked_array([c for each in columns for c in each.column.chunks], KIND))


def _kept(texts: Iterable[str]) -> Texts:
    schema = pa.schema([("text", KIND)])
    left = iter(texts)
    batches = (
        pa.record_batch([pa.array(some, KIND)], schema=schema)
        for some in iter(lambda: list(islice(left, FEW)), [])
    )
    return Texts(mapped(batches, schema).column(0))
