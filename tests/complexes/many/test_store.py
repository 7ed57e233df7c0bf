import json
import os
import pickle
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.cell_complex import RANK_SIGN, SHARED_SIGN, CellComplex
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.many.store import (
    MANIFEST,
    StoreError,
    folder_of,
    merge_ragged,
    open_ragged,
    save_ragged,
)


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
    complex_ = CellComplex.from_boundaries(
        [boundary, faces],
        features=[rng.integers(0, 9, (cells[0], 2)), rng.random((cells[1], 1)), None],
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


def test_one_flipped_bit_is_found_on_request(tmp_path):
    save_ragged(collection([3, 4]), tmp_path / "store")
    file = tmp_path / "store" / "rank0_encodings.npy"
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    file.write_bytes(data)
    open_ragged(tmp_path / "store")
    with pytest.raises(StoreError, match=r"rank0_encodings\.npy.*checksum"):
        open_ragged(tmp_path / "store", verify=True)


def test_a_missing_store_and_a_bad_manifest_are_named(tmp_path):
    with pytest.raises(StoreError, match="no store of complexes at"):
        open_ragged(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="is not a store"):
        open_ragged(tmp_path)
    save_ragged(collection([3]), tmp_path / "store")
    manifest = tmp_path / "store" / MANIFEST
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**content, "format": 99}))
    with pytest.raises(StoreError, match="has format 99"):
        open_ragged(tmp_path / "store")
    del content["arrays"]["rank0_offsets"]
    manifest.write_text(json.dumps(content))
    with pytest.raises(StoreError, match="rank0_offsets"):
        open_ragged(tmp_path / "store")
    manifest.write_text("{")
    with pytest.raises(StoreError, match="damaged"):
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
