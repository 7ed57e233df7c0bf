import gc
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.basics.sealed import sha256_of_stretch
from cellformer.complexes.many.late_parts import DAMAGED
from cellformer.complexes.many.parts import read_parts
from cellformer.complexes.many.ragged import RaggedRank
from cellformer.complexes.many.store import (
    StoreError,
    folder_of,
    is_late,
    merge_ragged,
    open_ragged,
    save_ragged,
)
from cellformer.data.loading.loader import ComplexDataset
from stored import UNEQUAL, assert_same, contents, flip

SMALL = ("encoding_signs", "targets", "rank0_offsets", "rank1_offsets", "rank2_offsets")
"""What is compared before anything is read."""


ENDS = np.cumsum([len(part) for part in UNEQUAL])


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store that passes for a large one."""
    for module in ("cellformer.basics.verified", "cellformer.complexes.many.store"):
        monkeypatch.setattr(f"{module}.REMEMBERED_FROM", 1)
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "cache"))
    merge_ragged(UNEQUAL, tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def read(monkeypatch):
    """The files that were compared, and where."""
    found = []

    def counted(file, start, size):
        found.append((file.stem, start))
        return sha256_of_stretch(file, start, size)

    monkeypatch.setattr("cellformer.complexes.many.late_parts.sha256_of_stretch", counted)
    return found


def late(folder):
    opened, _ = open_ragged(folder, verify="late")
    return opened


def stretches_of(folder):
    """Each stretch of each array, with its part."""
    begins = {file.stem: 128 for file in folder.glob("*.npy")}
    for number, part in enumerate(read_parts(folder)):
        for name, entry in part.arrays.items():
            if entry.bytes:
                yield number, name, begins[name], entry.bytes
            begins[name] += entry.bytes


def test_a_part_is_compared_when_some_of_it_is_first_taken(store, read):
    opened, right = late(store), open_ragged(store, verify=False)[0]
    assert is_late(opened)
    assert not is_late(right)
    assert {name for name, _ in read} == set(SMALL)
    assert len(opened) == ENDS[-1]
    assert [rank.columns for rank in opened.ranks] == [rank.columns for rank in right.ranks]
    assert opened.descriptors.columns == (6, 2)
    assert folder_of(opened) == store
    np.testing.assert_array_equal(opened.num_cells, right.num_cells)
    read.clear()
    places = {(name, start): part for part, name, start, _ in stretches_of(store)}
    for chosen, parts in ([8, 9], {2}), ([9, 8, 8], set()), ([0, 10], {0, 3}), ([8, 0, 12], set()):
        assert_same(opened.take(chosen), right.take(chosen))
        assert {places[each] for each in read if each in places} == parts
        read.clear()
    assert_same(opened.take([*range(len(opened))]), right.take([*range(len(opened))]))
    assert {places[each] for each in read if each in places} == {1}


def test_an_array_is_compared_as_a_whole_when_all_of_it_is_asked_for(store, read):
    opened = late(store)
    read.clear()
    for _ in range(2):
        assert opened.ranks[1].discrete.max() >= 0
        assert {name for name, _ in read} == {"rank1_discrete"}
        assert len(read) == len(UNEQUAL) - 1  # the first has no edges
    opened.take([3])
    assert ("rank1_discrete", 128) in read
    assert len([name for name, _ in read if name == "rank1_discrete"]) == len(UNEQUAL) - 1


@given(st.data())
@settings(deadline=None, max_examples=12)
def test_no_flipped_bit_gets_into_what_is_taken(tmp_path_factory, data):
    gc.collect()  # errors of earlier examples hold the files of their stores
    folder = tmp_path_factory.mktemp("late")
    with pytest.MonkeyPatch.context() as patch:
        for module in ("cellformer.basics.verified", "cellformer.complexes.many.store"):
            patch.setattr(f"{module}.REMEMBERED_FROM", 1)
        patch.setenv("CELLFORMER_CACHE", str(folder / "cache"))
        store = folder / "store"
        merge_ragged(UNEQUAL, store)
        right = open_ragged(store, verify=False)[0].take(np.arange(ENDS[-1]))
        part, name, start, size = data.draw(st.sampled_from([*stretches_of(store)]))
        flip(store / f"{name}.npy", start + data.draw(st.integers(0, size - 1)))
        told = rf"{name}\.npy is damaged.* in part {part}"
        if name in SMALL:
            with pytest.raises(StoreError, match=told):
                late(store)
            return
        opened = late(store)
        chosen = st.lists(st.integers(0, int(ENDS[-1]) - 1), min_size=1, max_size=3)
        for some in data.draw(st.lists(chosen, min_size=1, max_size=4)):
            if part in np.searchsorted(ENDS, some, side="right"):
                with pytest.raises(StoreError, match=told):
                    opened.take(some)
                with pytest.raises(StoreError, match=name):  # it is looked for at once now
                    late(store)
            else:
                assert_same(opened.take(some), right.take(some))
        for ask in (lambda: getattr_of(opened, name), lambda: pickle.dumps(opened)):
            with pytest.raises(StoreError, match=told):
                ask()


def getattr_of(opened, name):
    group, _, short = name.partition("_")
    number = group.removeprefix("rank")
    return getattr(opened.ranks[int(number)] if number.isdigit() else opened.descriptors, short)


def test_what_one_process_has_compared_the_others_believe(store, read, tmp_path):
    def reads(*takes):
        opened = late(store)  # as another process has it
        for chosen in takes:
            opened.take(chosen)
        count = len(read)
        read.clear()
        return count

    nothing = reads()
    assert nothing > 0
    assert reads() == 0
    assert reads([8]) > 0
    assert reads([8], [9]) == 0
    first, second = late(store), late(store)  # at the same time
    first.take([0])
    read.clear()
    second.take([0])
    assert read == []
    [record] = (tmp_path / "cache" / "verified").glob("*.pieces")
    for place in (3, 40, -3):
        flip(record, place)
    assert reads([8], [0]) > 0
    assert reads([8], [0]) == 0
    (store / "rank1_faces.npy").touch()
    assert reads([8]) > nothing
    assert len([*(tmp_path / "cache" / "verified").glob("*.pieces")]) == 1


def test_a_record_that_cannot_be_written_is_done_without(store, read, monkeypatch):
    monkeypatch.setattr("cellformer.basics.verified.cache_folder", lambda kind: None)
    for _ in range(2):
        opened = late(store)
        read.clear()
        opened.take([8])
        assert read
        read.clear()
        opened.take([8])
        assert read == []


def test_damage_that_was_found_late_is_looked_for_when_the_store_is_opened_again(store):
    opened, whole = late(store), contents(store)
    flip(store / "rank0_encodings.npy", -1)
    with pytest.raises(StoreError, match=r"rank0_encodings\.npy .* in part 3\); begin again"):
        opened.take([len(opened) - 1])
    assert "rank0_encodings.npy" in (store / DAMAGED).read_text()
    for verify in ("late", True):
        with pytest.raises(StoreError, match=r"rank0_encodings\.npy is damaged"):
            open_ragged(store, verify)
    flip(store / "rank0_encodings.npy", -1)
    assert len(late(store)) == len(opened)
    assert contents(store) == whole


def test_indices_that_point_outside_are_found_late_though_all_checksums_are_right(store, tmp_path):
    for name, place, value, told in [
        ("faces", -1, 120, "names a cell"),
        ("signs", -1, 7, "incidence number"),
        ("discrete", -1, -1, "negative category"),
        ("face_offsets", -2, 1, "does not divide"),
    ]:
        rank = UNEQUAL[3].ranks[1]
        changed = np.array(getattr(rank, name))
        changed.reshape(-1)[place] = value
        ranks = [*UNEQUAL[3].ranks]
        ranks[1] = replace(rank, **{name: changed})
        merge_ragged([UNEQUAL[1], replace(UNEQUAL[3], ranks=tuple(ranks))], tmp_path / name)
        opened = late(tmp_path / name)
        opened.take([0])
        with pytest.raises(StoreError, match=rf"rank1_{name}\.npy is damaged.*{told}.* in part 1"):
            opened.take([len(opened) - 1])


def test_another_process_compares_what_it_reads_itself(store):
    """What is sent there is the folder, and what has not been compared is not taken for right."""
    sent = pickle.dumps(ComplexDataset(late(store), np.arange(ENDS[-1])))
    flip(store / "rank1_encodings.npy", -1)
    dataset = pickle.loads(sent)
    assert is_late(dataset.complexes)
    assert_same(dataset.complexes.take([2]), UNEQUAL[1].take([1]))
    with pytest.raises(StoreError, match=r"rank1_encodings\.npy is damaged"):
        dataset[[3, int(ENDS[-1]) - 1]]


def test_a_changed_copy_has_the_late_arrays_of_the_other(store, read):
    opened = late(store)
    other = replace(opened, targets=None)
    values = np.zeros((len(opened), 3), np.float32)
    other = replace(other, descriptors=other.descriptors.with_arrays(values=values))
    read.clear()
    assert other.descriptors.columns == (6, 3)
    assert other.take([1]).descriptors.values.tolist() == [[0, 0, 0]]
    assert {name.partition("_")[0] for name, _ in read} == {"rank0", "rank1", "rank2", "descriptor"}
    assert isinstance(other.ranks[0], RaggedRank)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        other.ranks[0].colour  # noqa: B018


def test_a_small_store_is_compared_when_it_is_opened(tmp_path):
    save_ragged(UNEQUAL[1], tmp_path / "small")
    flip(tmp_path / "small" / "rank1_encodings.npy", -1)
    with pytest.raises(StoreError, match=r"rank1_encodings\.npy is damaged"):
        open_ragged(tmp_path / "small", verify="late")
