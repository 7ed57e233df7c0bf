"""Pages of a memory-mapped store that are asked for before they are read."""

import mmap
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from cellformer.complexes.late import Late
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank

STRETCH = 1 << 17
"""Bytes that are asked for at once; of more, some systems read only the beginning."""


def expect(ragged: RaggedComplexes, in_shards: bool) -> None:
    """Tells the system whether pages beside one that is read are worth reading too.

    They are not where `ReadingAhead` asks for whole shards: what lies beside a shard would take the
    room of another one. Where arrays are in memory, or the system takes no advice, nothing happens.
    """
    advice = getattr(mmap, "MADV_RANDOM" if in_shards else "MADV_NORMAL", None)
    for mapped in map(_mapped, _arrays(ragged)):
        if mapped is not None and advice is not None:
            mapped[0].madvise(advice)


@dataclass(eq=False)
class ReadingAhead:
    """Asks for all pages of a shard when the first of its complexes is about to be read.

    A shard is ``shard`` complexes that lie side by side; the last ``most`` of them are remembered,
    and not asked for again.
    """

    ragged: RaggedComplexes
    shard: int
    most: int
    _known: OrderedDict[int, None] = field(default_factory=OrderedDict, init=False)

    def __call__(self, complexes: Int64[np.ndarray, " chosen"]) -> None:
        """Before these are read."""
        for number in np.unique(complexes // self.shard).tolist():
            if number not in self._known:
                self._ask(number)
                self._known[number] = None
            self._known.move_to_end(number)
        while len(self._known) > self.most:
            self._known.popitem(last=False)

    def _ask(self, number: int) -> None:
        advice = getattr(mmap, "MADV_WILLNEED", None)
        if advice is None:
            return
        first = number * self.shard
        last = min(first + self.shard, len(self.ragged))
        for array, begin, end in self._rows(first, last):
            mapped = _mapped(array)
            if mapped is None or begin >= end:
                continue
            pages, start = mapped
            width = array.nbytes // len(array)
            place, stop = start + begin * width, min(start + end * width, len(pages))
            place -= place % mmap.PAGESIZE
            for at in range(place, stop, STRETCH):
                pages.madvise(advice, at, min(STRETCH, stop - at))

    def _rows(self, first: int, last: int) -> Iterator[tuple[NDArray[np.generic], int, int]]:
        """Which rows of each array some complexes have."""
        for rank in self.ragged.ranks:
            cells = rank.offsets[[first, last]].tolist()
            offsets = rank.lying("face_offsets")
            faces = offsets[cells].tolist()  # not compared yet: what is wrong is asked for in vain
            for name in RaggedRank.ARRAYS:
                begin, end = faces if name in ("faces", "signs") else cells
                if name != "offsets":
                    yield rank.lying(name), begin, end
        if self.ragged.descriptors is not None:
            for name in ("counts", "values"):
                yield self.ragged.descriptors.lying(name), first, last


def _arrays(ragged: RaggedComplexes) -> Iterator[NDArray[np.generic]]:
    owners: list[tuple[Late, tuple[str, ...]]] = [(r, RaggedRank.ARRAYS) for r in ragged.ranks]
    if ragged.descriptors is not None:
        owners.append((ragged.descriptors, ("counts", "values")))
    for owner, names in owners:
        for name in names:
            yield owner.lying(name)


def _mapped(array: NDArray[np.generic]) -> tuple[mmap.mmap, int] | None:
    """The pages of an array, and where it begins there; None where it is in memory."""
    pages = getattr(array, "_mmap", None)
    if not isinstance(array, np.memmap) or pages is None or not hasattr(pages, "madvise"):
        return None
    return pages, array.offset % mmap.ALLOCATIONGRANULARITY
