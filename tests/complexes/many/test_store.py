import copy
import hashlib
import json
import os
import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.basics.sealed import sha256_of_stretch
from cellformer.complexes.cell_complex import RANK_SIGN, SHARED_SIGN, CellComplex
from cellformer.complexes.features import Features
from cellformer.complexes.many.consistency import fault_of
from cellformer.complexes.many.manifest import MANIFEST
from cellformer.complexes.many.parts import PARTS
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.many.store import (
    StoreError,
    folder_of,
    merge_ragged,
    open_ragged,
    save_ragged,
)
from cellformer.complexes.many.writing import NARROW, arrays_of


def polygon(sides, rng, filled=True):
    """A cycle of that many vertices, with features and encodings; one vertex for 1."""
    if sides == 1:
        edges, faces = [], np.zeros((0, 0))
    else:
        edges = [(i, (i + 1) % sides) for i in range(sides)]
        faces = np.ones((sides, 1 if filled else 0))
    boundary = np.zeros((sides, len(edges)))
    for column, (tail, head) in enumerate(edges):
        boundary[tail, column], boundary[head, column] = -1, 1
    cells = (sides, len(edges), faces.shape[1])
    of_edges = Features.of(rng.random((cells[1], 1)), cells[1], "edges")
    of_edges = of_edges.with_signed(rng.normal(size=(cells[1], 2)))
    complex_ = CellComplex.from_boundaries(
        [boundary, faces],
        features=[rng.integers(0, 9, (cells[0], 2)), of_edges, None],
    )
    encodings = [rng.random((count, 3)).astype(np.float32) for count in cells]
    return complex_.with_encodings(encodings, np.array([0, SHARED_SIGN, RANK_SIGN], np.int8))


def collection(sides, seed=0, targets=True):
    rng = np.random.default_rng(seed)
    complexes = [polygon(n, rng, filled=n % 2 == 0) for n in sides]
    values = rng.random((len(sides), 2)) if targets else None
    return RaggedComplexes.from_complexes(complexes, values)


def assert_equal(left, right):
    assert len(left.ranks) == len(right.ranks)
    for one, other in zip(left.ranks, right.ranks, strict=True):
        for name in RaggedRank.ARRAYS:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
            if name not in NARROW:
                assert getattr(one, name).dtype == getattr(other, name).dtype
    np.testing.assert_array_equal(left.encoding_signs, right.encoding_signs)
    if left.targets is None or right.targets is None:
        assert left.targets is right.targets
    else:
        np.testing.assert_array_equal(left.targets, right.targets)


@given(st.lists(st.sampled_from([1, 3, 4, 6]), min_size=1, max_size=6), st.booleans())
@settings(deadline=None, max_examples=25)
def test_a_store_gives_back_every_array_and_the_meta(tmp_path_factory, sides, targets):
    folder = tmp_path_factory.mktemp("store") / "here"
    ragged = collection(sides, targets=targets)
    save_ragged(ragged, folder, {"note": [1, "zwei"]})
    opened, meta = open_ragged(folder, verify=True)
    assert meta == {"note": [1, "zwei"]}
    assert_equal(opened, ragged)


@given(
    st.lists(
        st.lists(st.sampled_from([1, 3, 4, 6]), min_size=1, max_size=4), min_size=1, max_size=4
    )
)
@settings(deadline=None, max_examples=25)
def test_merging_stores_equals_one_collection_of_all(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("store")
    pieces = [collection(sides, seed) for seed, sides in enumerate(parts)]
    for number, piece in enumerate(pieces):
        save_ragged(piece, folder / str(number))
    mapped = [open_ragged(folder / str(number))[0] for number in range(len(parts))]
    merge_ragged(mapped, folder / "all")
    complexes = [piece[i] for piece in pieces for i in range(len(piece))]
    targets = np.concatenate([piece.targets for piece in pieces])
    assert_equal(
        open_ragged(folder / "all", verify=True)[0],
        RaggedComplexes.from_complexes(complexes, targets),
    )


def test_arrays_are_memory_mapped_and_never_writable(tmp_path):
    save_ragged(collection([3, 4]), tmp_path / "store")
    opened, _ = open_ragged(tmp_path / "store")
    assert isinstance(opened.ranks[1].faces, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        opened.ranks[0].encodings[0, 0] = 1


def test_no_file_of_a_store_is_a_pickle(tmp_path):
    save_ragged(collection([3, 4]), tmp_path / "store")
    for file in (tmp_path / "store").iterdir():
        if file.suffix == ".npy":
            np.load(file, allow_pickle=False)
        else:
            json.loads(file.read_text())


def test_an_existing_store_is_not_overwritten(tmp_path):
    save_ragged(collection([3]), tmp_path / "store", {"first": True})
    with pytest.raises(FileExistsError, match="not overwritten"):
        save_ragged(collection([4]), tmp_path / "store")
    opened, meta = open_ragged(tmp_path / "store", verify=True)
    assert meta == {"first": True}
    assert len(opened.ranks[0].encodings) == 3


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    with pytest.raises(TypeError):
        save_ragged(collection([3]), tmp_path / "store", {"not for JSON": object()})
    assert list(tmp_path.iterdir()) == []


def test_parts_with_other_columns_or_encodings_do_not_merge(tmp_path):
    plain = CellComplex.from_boundaries([np.array([[-1], [1]])])
    other = CellComplex.from_boundaries([np.array([[-1], [1]])], features=[[1, 2], None])
    parts = [RaggedComplexes.from_complexes([cells]) for cells in (plain, other)]
    with pytest.raises(ValueError, match="rank0_discrete: part 1"):
        merge_ragged(parts, tmp_path / "store")
    with pytest.raises(ValueError, match="part 1 carries other encodings"):
        merge_ragged([parts[0], collection([3], targets=False)], tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


def damage_truncate(folder):
    file = folder / "rank1_faces.npy"
    os.truncate(file, file.stat().st_size - 3)


def damage_remove(folder):
    (folder / "rank1_faces.npy").unlink()


def damage_header(folder):
    file = folder / "rank1_faces.npy"
    file.write_bytes(b"\0" * 8 + file.read_bytes()[8:])


def damage_swap(folder):
    shutil.copy(folder / "rank1_signs.npy", folder / "rank1_faces.npy")


@pytest.mark.parametrize("damage", [damage_truncate, damage_remove, damage_header, damage_swap])
def test_a_damaged_array_is_named_with_what_to_do(tmp_path, damage):
    save_ragged(collection([3, 4]), tmp_path / "store")
    damage(tmp_path / "store")
    with pytest.raises(StoreError, match=r"rank1_faces\.npy.*delete the folder"):
        open_ragged(tmp_path / "store")


def flip(file, place=-5):
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)


def test_one_flipped_bit_is_found(tmp_path):
    save_ragged(collection([3, 4]), tmp_path / "store")
    flip(tmp_path / "store" / "rank0_encodings.npy")
    open_ragged(tmp_path / "store", verify=False)
    with pytest.raises(StoreError, match=r"rank0_encodings\.npy.*checksum"):
        open_ragged(tmp_path / "store")


@pytest.mark.parametrize("name", ["rank0_discrete", "rank1_faces", "rank0_encodings"])
def test_no_bit_before_the_numbers_of_an_array_changes_them(tmp_path, name):
    save_ragged(collection([3, 4]), tmp_path / "store")
    file, right = tmp_path / "store" / f"{name}.npy", open_ragged(tmp_path / "store")[0]
    whole, named = file.read_bytes(), arrays_of(right)
    found = 0
    for bit in [*range(10 * 8), *range(10 * 8, 128 * 8, 13)]:  # all that say how long it is
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        file.write_bytes(data)
        told, opened = opened_or_told(tmp_path / "store")
        if opened is None:
            assert str(file) in told
            found += 1
        else:
            assert all(map(np.array_equal, arrays_of(opened).values(), named.values()))
    assert found > 80


def opened_or_told(folder):
    try:
        return "", open_ragged(folder)[0]
    except StoreError as error:
        return str(error), None


@pytest.fixture
def read(monkeypatch):
    """The files that were compared with their checksums, as often as they were."""
    files = []

    def counted(file, start, size):
        files.append(file)
        return sha256_of_stretch(file, start, size)

    monkeypatch.setattr("cellformer.complexes.many.store.sha256_of_stretch", counted)
    return files


def test_a_store_is_verified_once_and_again_when_a_file_has_changed(tmp_path, read):
    save_ragged(collection([3, 4]), tmp_path / "store")
    for _ in range(2):
        open_ragged(tmp_path / "store")
        assert len(read) == len(list((tmp_path / "store").glob("*.npy")))
    flip(tmp_path / "store" / "rank1_continuous.npy")
    with pytest.raises(StoreError, match="rank1_continuous"):
        open_ragged(tmp_path / "store")


def test_a_changed_manifest_is_found(tmp_path):
    save_ragged(collection([3, 4]), tmp_path / "store", {"note": "right"})
    manifest = tmp_path / "store" / MANIFEST
    manifest.write_text(manifest.read_text().replace("right", "wrong"))
    with pytest.raises(StoreError, match=r"manifest\.json is damaged.*checksum differs; delete"):
        open_ragged(tmp_path / "store")


def test_a_store_of_an_earlier_version_has_no_checksum_of_its_manifest_and_opens(tmp_path):
    save_ragged(collection([3, 4]), tmp_path / "store", {"note": 1})
    manifest = tmp_path / "store" / MANIFEST
    manifest.write_text(json.dumps(without_checksum(manifest)))
    assert open_ragged(tmp_path / "store")[1] == {"note": 1}


def without_checksum(manifest):
    return {name: value for name, value in json.loads(manifest.read_text()).items()
            if name != "checksum"}  # fmt: skip


def change(ragged, rank, **arrays):
    ranks = list(ragged.ranks)
    ranks[rank] = replace(ranks[rank], **arrays)
    return replace(ragged, ranks=tuple(ranks))


def with_entry(array, place, value):
    changed = np.array(array)
    changed.reshape(-1)[place] = value
    return changed


@pytest.mark.parametrize(
    ("rank", "name", "place", "value"),
    [
        (1, "faces", 0, 3),  # its complex has vertices 0, 1, 2
        (1, "faces", 0, -1),
        (1, "faces", 0, 2**30),
        (2, "signs", 0, 2),
        (1, "offsets", 1, 99),
        (1, "face_offsets", 1, 99),
        (0, "discrete", 0, -1),
    ],
)
def test_indices_that_point_outside_are_found_though_all_checksums_are_right(
    tmp_path, rank, name, place, value
):
    ragged = collection([3, 4])
    changed = with_entry(getattr(ragged.ranks[rank], name), place, value)
    save_ragged(change(ragged, rank, **{name: changed}), tmp_path / "store")
    with pytest.raises(StoreError, match=rf"rank{rank}_{name}\.npy is damaged: it .*delete"):
        open_ragged(tmp_path / "store")


def unchecked(made, **arrays):
    """A copy with other arrays, as only a file can give them."""
    changed = copy.copy(made)
    for name, array in arrays.items():
        object.__setattr__(changed, name, array)
    return changed


def test_arrays_that_do_not_fit_each_other_are_found():
    ragged = collection([3, 4])
    rank = ragged.ranks[1]
    for other, told in [
        *(
            (unchecked(rank, **{name: getattr(rank, name)[1:]}), f"rank1_{where}")
            for name, where in [
                *((name, name) for name in ("signs", "discrete", "continuous", "encodings")),
                ("faces", "face_offsets"),
            ]
        ),
        (unchecked(rank, encodings=rank.encodings[:, 1:]), "rank1_encodings"),
        (unchecked(rank, faces=rank.faces.astype(np.float32)), "rank1_faces"),
        (unchecked(rank, discrete=rank.discrete[:, 0:0, None]), "rank1_discrete"),
    ]:
        ranks = (ragged.ranks[0], other, *ragged.ranks[2:])
        assert fault_of(unchecked(ragged, ranks=ranks))[0] == told
    for changes, told in [
        ({"targets": ragged.targets[1:]}, "targets"),
        ({"target_rank": 1}, "targets"),
        ({"target_rank": 7}, "targets"),
        ({"encoding_signs": with_entry(ragged.encoding_signs, 0, 4)}, "encoding_signs"),
    ]:
        assert fault_of(unchecked(ragged, **changes))[0] == told


def test_faces_are_looked_at_in_parts_and_all_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr("cellformer.complexes.many.consistency.CHUNK", 5)
    ragged = collection([3, 6, 4, 4, 1, 3])
    assert fault_of(ragged) is None
    for place in range(len(ragged.ranks[1].faces)):
        faces = np.array(ragged.ranks[1].faces)
        faces[place] = 6
        assert fault_of(change(ragged, 1, faces=faces)) is not None


def test_a_missing_store_and_a_bad_manifest_are_named(tmp_path):
    with pytest.raises(StoreError, match="no store of complexes at"):
        open_ragged(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="is not a store"):
        open_ragged(tmp_path)
    save_ragged(collection([3]), tmp_path / "store")
    manifest = tmp_path / "store" / MANIFEST
    content = without_checksum(manifest)
    for wrong, told in [
        ({**content, "format": 99}, "has format 99"),
        ({**content, "complexes": 2}, "holds 1 complexes"),
        ({**content, "ranks": 0}, "holds 0 complexes"),
        ({**content, "ranks": "3"}, "ranks must be a whole number"),
        ({**content, "arrays": None}, "arrays must be a mapping"),
        ({**content, "extra": 1}, "extra"),
        ({**content, "meta": 1}, "meta must be a mapping"),
        ([content], "has format None"),
    ]:
        manifest.write_text(json.dumps(wrong))
        with pytest.raises(StoreError, match=told):
            open_ragged(tmp_path / "store")
    del content["arrays"]["rank0_offsets"]
    manifest.write_text(json.dumps(content))
    with pytest.raises(StoreError, match="rank0_offsets"):
        open_ragged(tmp_path / "store")
    manifest.write_text("{")
    with pytest.raises(StoreError, match="cannot be read as JSON"):
        open_ragged(tmp_path / "store")


def test_a_mapped_collection_knows_its_folder_and_a_changed_one_does_not(tmp_path):
    ragged = collection([3, 4])
    save_ragged(ragged, tmp_path / "store")
    opened, _ = open_ragged(tmp_path / "store")
    assert folder_of(opened) == tmp_path / "store"
    assert folder_of(ragged) is None
    assert folder_of(opened.take([1])) is None
    assert folder_of(opened.to_depth(3)) is None
    assert folder_of(pickle.loads(pickle.dumps(opened))) is None


def as_before(folder, ragged):
    """The store as the first format had it: wide numbers, a checksum for each array, no parts."""
    save_ragged(ragged, folder)
    manifest = without_checksum(folder / MANIFEST) | {"format": 1}
    del manifest["parts"]
    (folder / PARTS).unlink()
    for name, array in arrays_of(ragged).items():
        file = folder / f"{name}.npy"
        np.save(file, array)
        manifest["arrays"][name] |= {
            "dtype": array.dtype.str, "bytes": file.stat().st_size,
            "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        }  # fmt: skip
    (folder / MANIFEST).write_text(json.dumps(manifest))
    return manifest


def without_signed(folder, manifest):
    """The store as it was written before there were signed features."""
    for rank in range(manifest["ranks"]):
        del manifest["arrays"][f"rank{rank}_signed"]
        (folder / f"rank{rank}_signed.npy").unlink()
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_a_store_of_the_first_format_opens_and_its_damage_is_found(tmp_path):
    ragged = collection([3, 4, 6])
    as_before(tmp_path / "old", ragged)
    opened, _ = open_ragged(tmp_path / "old")
    assert_equal(opened, ragged)
    assert opened.ranks[1].faces.dtype == np.int32
    flip(tmp_path / "old" / "rank1_encodings.npy")
    with pytest.raises(
        StoreError, match=r"rank1_encodings\.npy is damaged \(its checksum differs\)"
    ):
        open_ragged(tmp_path / "old")


def test_a_store_from_before_signed_features_opens_and_merges_with_a_new_one(tmp_path):
    cells = CellComplex.from_boundaries(
        polygon(4, np.random.default_rng(0)).boundaries, features=[np.arange(4), None, None]
    )
    plain = RaggedComplexes.from_complexes([cells])
    save_ragged(plain, tmp_path / "new")
    without_signed(tmp_path / "old", as_before(tmp_path / "old", plain))
    opened, _ = open_ragged(tmp_path / "old")
    assert_equal(opened, plain)
    assert folder_of(opened) == tmp_path / "old"
    merge_ragged([opened, open_ragged(tmp_path / "new")[0]], tmp_path / "both")
    assert_equal(open_ragged(tmp_path / "both")[0], RaggedComplexes.concatenate([plain, plain]))


def test_what_is_taken_from_a_store_has_the_types_that_it_had(tmp_path):
    ragged = collection([3, 4])
    save_ragged(ragged, tmp_path / "store")
    opened, _ = open_ragged(tmp_path / "store")
    assert opened.ranks[1].faces.dtype == opened.ranks[0].discrete.dtype == np.int8
    some = opened.take([1, 0])
    for made in (some, RaggedComplexes.concatenate([opened, opened])):
        for name in RaggedRank.ARRAYS:
            assert getattr(made.ranks[1], name).dtype == getattr(ragged.ranks[1], name).dtype, name
    assert_equal(some, ragged.take([1, 0]))


def test_one_process_of_a_machine_verifies_a_large_store(tmp_path, monkeypatch, read):
    for module in ("cellformer.basics.verified", "cellformer.complexes.many.store"):
        monkeypatch.setattr(f"{module}.REMEMBERED_FROM", 1)
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "cache"))
    save_ragged(collection([3, 4]), tmp_path / "store")

    def reads():
        monkeypatch.setattr("cellformer.complexes.many.store._verified", {})  # another process
        read.clear()
        open_ragged(tmp_path / "store")
        return len(read)

    whole = len(list((tmp_path / "store").glob("*.npy")))
    assert (reads(), reads()) == (whole, 0)
    [record] = (tmp_path / "cache" / "verified").glob("*.json")
    flip(record)  # it says nothing then
    assert (reads(), reads()) == (whole, 0)
    (tmp_path / "store" / "rank1_faces.npy").touch()
    assert (reads(), reads()) == (whole, 0)
    flip(tmp_path / "store" / "rank0_continuous.npy", 40)
    flip(tmp_path / "store" / "rank1_continuous.npy")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"rank\d_continuous"):
            reads()
    flip(tmp_path / "store" / "rank1_continuous.npy")
    flip(tmp_path / "store" / "rank0_continuous.npy", 40)
    assert (reads(), reads()) == (whole, 0)
