import pickle
from dataclasses import replace

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.many import remote
from cellformer.complexes.many.manifest import MANIFEST
from cellformer.complexes.many.parts import PARTS, read_parts
from cellformer.complexes.many.remote import is_store_at, open_remote, put_store
from cellformer.complexes.many.store import StoreError, merge_ragged, open_ragged, place_of
from cellformer.data.loading.loader import ComplexDataset, batches
from cellformer.lifting.rings import Rings
from stored import UNEQUAL, assert_same, collection, described, path
from tiny import SMILES

fsspec = pytest.importorskip("fsspec")
URL = "memory://bucket/store"


WIDENED = [path(3), path(200), path(40_000), path(2)]
MANY = [described(collection(Rings(), [text] * 3)) for text in SMILES[:12]]


class Asked:
    """What was asked of the files at a URL."""

    def __init__(self, files):
        self.files = files
        self.ranges = []
        self.wholes = []
        self.within = False
        self.own_file, self.own_ranges = files.cat_file, files.cat_ranges

    def cat_file(self, place, *places, **options):
        assert self.within or not places  # after the first s3fs has others
        if not self.within:  # which asks for one range after the other
            self.wholes.append(place.rpartition("/")[2].removesuffix(".npy"))
        return self.own_file(place, *places, **options)

    def cat_ranges(self, places, starts, ends, **options):
        self.ranges.append(len(places))
        self.within = True
        try:
            return self.own_ranges(places, starts, ends, **options)
        finally:
            self.within = False


@pytest.fixture
def files():
    """An empty store of objects."""
    made = fsspec.filesystem("memory")
    made.store.clear()
    yield made
    made.store.clear()


@pytest.fixture
def asked(files, monkeypatch):
    found = Asked(files)
    monkeypatch.setattr(files, "cat_file", found.cat_file)
    monkeypatch.setattr(files, "cat_ranges", found.cat_ranges)
    return found


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put(folder, parts, url=URL, packed=False):
    merge_ragged(parts, folder / "made", {"note": 1})
    put_store(folder / "made", url, packed)
    return open_ragged(folder / "made")[0]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("parts", "packed"), [(UNEQUAL, False), (UNEQUAL, True), (WIDENED, True), (MANY, False)]
)
def test_what_is_taken_from_a_url_is_what_is_taken_from_the_folder(tmp_path, parts, packed):
    right = put(tmp_path, parts, packed=packed)
    opened, meta = open_ragged(URL)
    assert meta == {"note": 1}
    assert place_of(opened) == URL
    assert len(opened) == len(right)
    np.testing.assert_array_equal(opened.num_cells, right.num_cells)
    assert [rank.columns for rank in opened.ranks] == [rank.columns for rank in right.ranks]

    @given(st.lists(st.integers(0, len(right) - 1), max_size=6))
    @settings(deadline=None, max_examples=60)
    def same(chosen):
        assert_same(opened.take(chosen), right.take(chosen))

    same()
    assert_same(opened.take([*range(len(right))]), right.take([*range(len(right))]))
    assert_same(opened, right)  # as wholes


def test_only_the_parts_that_are_needed_are_fetched_and_once(tmp_path, asked):
    right = put(tmp_path, MANY)
    opened, _ = open_remote(URL)
    small = [MANIFEST, PARTS, *(f"rank{n}_offsets" for n in range(3)), "targets", "encoding_signs"]
    assert asked.wholes == small
    assert asked.ranges == []
    for chosen in ([4], [3, 5], [5, 4, 4]):
        assert_same(opened.take(chosen), right.take(chosen))
        assert len(asked.ranges) == 1
    opened.take([33, 0])
    assert len(asked.ranges) == 3
    again, _ = open_remote(URL)  # as another process has it
    assert asked.wholes == [*small, MANIFEST]
    assert_same(again.take([4, 33]), right.take([4, 33]))
    assert len(asked.ranges) == 3
    assert opened.ranks[1].discrete.max() == right.ranks[1].discrete.max()
    assert asked.wholes[-1] == "rank1_discrete"
    assert len(asked.ranges) == 3


def test_a_packed_part_is_fetched_with_one_request_and_compared_like_others(tmp_path, asked, files):
    right = put(tmp_path, MANY, packed=True)
    opened, _ = open_remote(URL)
    asked.wholes.clear()
    assert_same(opened.take([33]), right.take([33]))
    assert asked.wholes == ["000000011.zst"]
    assert asked.ranges == []
    codec = remote._codec()
    sent = pyarrow.BufferReader(files.cat_file("/bucket/store/packed/000000002.zst"))
    data = bytearray(pyarrow.CompressedInputStream(sent, "zstd").read())
    data[70] ^= 1
    for wrong in (codec.compress(bytes(data), asbytes=True), b"nonsense"):
        files.pipe_file("/bucket/store/packed/000000002.zst", wrong)
        with pytest.raises(StoreError, match="memory://bucket/store"):
            opened.take([6])


def kept_in(cache):
    return {file.name: file.stat().st_size for file in (cache / "remote/parts").glob("[!.]*")}


def test_no_more_is_kept_than_is_allowed_and_the_least_recently_used_part_goes(
    tmp_path, cache, asked, monkeypatch
):
    right = put(tmp_path, MANY)
    opened, _ = open_remote(URL)
    opened.take([0])
    pinned = {name: size for name, size in kept_in(cache).items() if not name[-9:].isdigit()}
    part = sum(kept_in(cache).values()) - sum(pinned.values())
    monkeypatch.setattr("cellformer.basics.bounded.OPEN", 1)
    limit = sum(pinned.values()) + 4 * part
    opened, _ = open_remote(URL, kept_bytes=limit)
    for number in range(12):
        assert_same(opened.take([3 * number]), right.take([3 * number]))
        assert sum(kept_in(cache).values()) <= limit
    assert pinned.items() <= kept_in(cache).items()  # which this process holds
    left = {int(name[-9:]) for name in kept_in(cache).keys() - pinned.keys()}
    assert 11 in left
    assert 0 not in left
    before = len(asked.ranges)
    opened.take([3 * number for number in left])
    assert len(asked.ranges) == before
    held, _ = open_remote(URL)
    held.take([33])
    with pytest.raises(
        StoreError, match=r"memory://.*may have .* bytes; .*CELLFORMER_REMOTE_BYTES"
    ):
        open_remote(URL, kept_bytes=sum(pinned.values()) + 10)[0].take([0])
    assert_same(held.take([33]), right.take([33]))


def test_a_part_that_another_process_uses_is_not_removed(tmp_path, cache, files):
    put(tmp_path, MANY)
    first, _ = open_remote(URL)
    first.take([0])
    [used] = [name for name in kept_in(cache) if name[-9:].isdigit()]
    limit = sum(kept_in(cache).values()) + 6000  # one or two of the others
    second, _ = open_remote(URL, kept_bytes=limit)
    for number in range(1, 12):
        second.take([3 * number])
    assert used in kept_in(cache)
    assert sum(kept_in(cache).values()) <= limit


def flipped(files, name, place):
    data = bytearray(files.cat_file(f"/bucket/store/{name}"))
    data[place] ^= 1
    files.pipe_file(f"/bucket/store/{name}", bytes(data))


def test_a_flipped_bit_there_is_named_with_the_url(tmp_path, files):
    put(tmp_path, UNEQUAL)
    begins = {}
    for number, part in enumerate(read_parts(tmp_path / "made")):
        for name, entry in part.arrays.items():
            begin = begins.get(name, 128)
            begins[name] = begin + entry.bytes
            if not entry.bytes:
                continue
            flipped(files, f"{name}.npy", begin)
            told = rf"memory://bucket/store: {name}\.npy is damaged .* in part {number}"
            with pytest.raises(StoreError, match=told):
                open_remote(URL)[0].take([(0, 1, 8, 10)[number]])
            flipped(files, f"{name}.npy", begin)
    flipped(files, PARTS, 40)
    for kept in (tmp_path / "cache").rglob(PARTS):
        kept.unlink()
    with pytest.raises(StoreError, match=rf"memory://bucket/store/{PARTS} is damaged"):
        open_remote(URL)
    flipped(files, MANIFEST, 40)
    with pytest.raises(StoreError, match=rf"memory://bucket/store/{MANIFEST} "):
        open_remote(URL)


def test_what_the_disk_changes_in_the_cache_is_fetched_again(tmp_path, cache, asked):
    right = put(tmp_path, MANY)
    open_remote(URL)[0].take([0])
    for file in (cache / "remote/parts").glob("[!.]*"):
        data = bytearray(file.read_bytes())
        data[0] ^= 1
        file.write_bytes(data)
    asked.wholes.clear()
    opened, _ = open_remote(URL)
    assert_same(opened.take([0]), right.take([0]))
    assert len(asked.ranges) == 2
    assert {"rank0_offsets", "rank2_offsets"} < {*asked.wholes}


def test_what_cannot_be_read_is_told_with_the_url_and_the_way_out(tmp_path, files, monkeypatch):
    with pytest.raises(StoreError, match=r"memory://bucket/store is not a store .*; prepare"):
        open_ragged(URL)
    assert not is_store_at(URL)
    with pytest.raises(StoreError, match=r"nonsense://x cannot be read .*nonsense"):
        open_ragged("nonsense://x")
    put(tmp_path, UNEQUAL)
    opened, _ = open_ragged(URL)

    def broken(*_, **__):
        raise TimeoutError("the line is dead")

    monkeypatch.setattr(files, "cat_file", broken)
    with pytest.raises(StoreError, match=r"memory://.* \(TimeoutError: the line is dead\); see wh"):
        opened.take([2])
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(ImportError, match=r"memory://.* pip install 'cellformer\[remote\]'"):
        open_ragged(URL)


def test_a_store_that_is_not_whole_yet_is_none(tmp_path, files, monkeypatch):
    merge_ragged(UNEQUAL, tmp_path / "made")
    own, count = files.put_file, [0]

    def interrupted(*places):
        count[0] += 1
        if count[0] == 5:
            raise KeyboardInterrupt
        own(*places)

    monkeypatch.setattr(files, "put_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        put_store(tmp_path / "made", URL)
    assert not is_store_at(URL)
    put_store(tmp_path / "made", URL)
    assert is_store_at(URL)
    done = count[0]
    put_store(tmp_path / "made", URL)
    assert count[0] == done
    assert_same(open_remote(URL)[0].take([3]), UNEQUAL[1].take([2]))


def test_processes_that_load_batches_are_sent_the_url(tmp_path):
    url = f"file://{tmp_path}/there"
    right = put(tmp_path, MANY, url)
    opened, _ = open_ragged(url)
    sent = pickle.dumps(ComplexDataset(opened, np.arange(len(opened))))
    targets = right.targets.nbytes
    assert len(sent) < 1500 + targets + 8 * len(opened)
    taken = pickle.loads(sent)
    assert place_of(taken.complexes) == url
    assert_same(taken.complexes.take([7, 1]), right.take([7, 1]))
    loaders = [
        batches(each, np.arange(len(right)), 5, True, workers=workers, window=9)
        for each, workers in ((right, 0), (opened, 1))
    ]
    for one, other in zip(*loaders, strict=True):
        assert all((a == b).all() for a, b in zip(one.discrete, other.discrete, strict=True))
        assert (one.targets == other.targets).all()


def test_indices_that_point_outside_are_found_though_all_checksums_are_right(tmp_path, files):
    rank = UNEQUAL[3].ranks[1]
    faces = np.array(rank.faces)
    faces[-1] = 99
    ranks = [*UNEQUAL[3].ranks]
    ranks[1] = replace(rank, faces=faces)
    put(tmp_path, [UNEQUAL[1]])
    merge_ragged([UNEQUAL[1], replace(UNEQUAL[3], ranks=tuple(ranks))], tmp_path / "wrong")
    put_store(tmp_path / "wrong", "memory://bucket/wrong")
    opened, _ = open_remote("memory://bucket/wrong")
    opened.take([0])
    with pytest.raises(StoreError, match=r"rank1_faces\.npy is damaged: .* in part 1"):
        opened.take([9])
    assert remote.KEPT_BYTES > 1e9


@pytest.mark.parametrize("told", ["", "much", "-1", "0", "1e9"])
def test_a_room_that_is_no_number_is_told_by_the_name_of_its_variable(told, monkeypatch):
    monkeypatch.setenv(remote.KEPT_VARIABLE, told)
    with pytest.raises(ValueError, match=f"CELLFORMER_REMOTE_BYTES .* got '{told}'"):
        open_remote(URL)
    with pytest.raises(ValueError, match="kept_bytes"):
        open_remote(URL, kept_bytes=0)
