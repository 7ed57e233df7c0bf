import mmap

import numpy as np
import pytest

from cellformer.complexes.many import reading_ahead
from cellformer.complexes.many.ragged import RaggedRank
from cellformer.complexes.many.reading_ahead import ReadingAhead, expect
from cellformer.complexes.many.store import open_ragged, save_ragged
from cellformer.lifting.rings import Rings
from stored import collection
from tiny import SMILES

HEADER = 128


class Pages:
    """What the system is told of the pages of an array."""

    def __init__(self, size):
        self.size = size
        self.asked = np.zeros(size, np.int64)

    def __len__(self):
        return self.size

    def madvise(self, advice, start, length):
        assert advice == mmap.MADV_WILLNEED
        assert start % mmap.PAGESIZE == 0
        assert 0 < length <= reading_ahead.STRETCH
        assert start + length <= self.size
        self.asked[start : start + length] += 1


def bytes_of(opened, first, last):
    """Where the numbers of some complexes lie in each array, one complex after the other."""
    for rank in opened.ranks:
        for row in range(first, last):
            cells = range(rank.offsets[row], rank.offsets[row + 1])
            for name in RaggedRank.ARRAYS[1:]:
                array = getattr(rank, name)
                for cell in cells:
                    faces = range(rank.face_offsets[cell], rank.face_offsets[cell + 1])
                    for place in faces if name in ("faces", "signs") else [cell]:
                        width = array.itemsize * array[0].size
                        yield array, HEADER + place * width, HEADER + (place + 1) * width


@pytest.mark.parametrize("page", [16, 64])
def test_all_that_a_shard_is_read_of_is_asked_for_once_and_little_else(tmp_path, monkeypatch, page):
    monkeypatch.setattr(mmap, "PAGESIZE", page)
    monkeypatch.setattr(reading_ahead, "STRETCH", 4 * page)
    save_ragged(collection(Rings(), SMILES), tmp_path / "store")
    opened, _ = open_ragged(tmp_path / "store")
    pages = {}

    def mapped(array):
        return pages.setdefault(id(array), Pages(HEADER + array.nbytes)), HEADER

    monkeypatch.setattr(reading_ahead, "_mapped", mapped)
    ahead = ReadingAhead(opened, shard=5, most=2)
    ahead(np.array([6, 9, 5]))
    needed = {}
    for array, begin, end in bytes_of(opened, 5, 10):
        assert (pages[id(array)].asked[begin:end] == 1).all()
        needed[id(array)] = needed.get(id(array), 0) + end - begin
    needed = {key: size for key, size in needed.items() if size}
    for key, size in needed.items():
        assert 0 <= pages[key].asked.sum() - size < page
    before = {key: each.asked.copy() for key, each in pages.items()}
    ahead(np.array([8, 7]))
    assert all((pages[key].asked == before[key]).all() for key in before)
    ahead(np.array([0, 24]))  # another two, so that the first one is forgotten
    ahead(np.array([5]))
    assert all(pages[key].asked.sum() > before[key].sum() for key in needed)


def test_the_pages_of_a_store_are_real_and_those_of_memory_are_none(tmp_path, monkeypatch):
    ragged = collection(Rings(), SMILES)
    save_ragged(ragged, tmp_path / "store")
    opened, _ = open_ragged(tmp_path / "store")
    array = opened.ranks[0].encodings
    found, start = reading_ahead._mapped(array)
    assert found[start : start + array.nbytes] == array.tobytes()
    assert reading_ahead._mapped(ragged.ranks[0].encodings) is None
    for each in (opened, ragged):
        for in_shards in (True, False):
            expect(each, in_shards)
        ReadingAhead(each, 4, 2)(np.arange(len(each)))
    monkeypatch.delattr(mmap, "MADV_WILLNEED")
    monkeypatch.delattr(mmap, "MADV_RANDOM")
    expect(opened, in_shards=True)
    ReadingAhead(opened, 4, 2)(np.arange(len(opened)))
