import numpy as np
import pytest

from cellformer.complexes.many.manifest import MANIFEST
from cellformer.complexes.many.mending import damage_of, mend
from cellformer.complexes.many.parts import PARTS, StoreError, read_parts
from cellformer.complexes.many.store import merge_ragged
from stored import UNEQUAL, contents, flip, path

WIDENED = [path(3), path(200), path(40_000), path(2)]


@pytest.mark.parametrize("parts", [UNEQUAL, WIDENED])
def test_every_part_of_every_array_gets_its_bytes_back(tmp_path, parts):
    store = tmp_path / "store"
    merge_ragged(parts, store)
    right = contents(store)
    begins = dict.fromkeys(right, 128)
    tried = 0
    for number, part in enumerate(read_parts(store)):
        for name, entry in part.arrays.items():
            file = store / f"{name}.npy"
            if not entry.rows or not entry.bytes:
                continue
            data = bytearray(right[file.name])
            data[begins[file.name] + (7 * tried) % entry.bytes] ^= 1 << tried % 8
            file.write_bytes(data)
            damage = damage_of(store)
            assert damage.parts == {number: (name,)}
            assert damage.files(store) == {file: (number,)}
            mend(store, damage, lambda wanted, number=number: {number: parts[number]}[wanted])
            assert contents(store) == right
            begins[file.name] += entry.bytes
            tried += 1
    assert tried > 20
    assert damage_of(store).parts == {}


def test_what_is_made_otherwise_is_refused_before_anything_is_written(tmp_path):
    store = tmp_path / "store"
    merge_ragged(UNEQUAL, store)
    flip(store / "rank0_encodings.npy", -1)
    damage, damaged = damage_of(store), contents(store)
    assert list(damage.parts) == [3]
    reordered = UNEQUAL[3].take(np.arange(len(UNEQUAL[3]))[::-1])
    for made in (None, UNEQUAL[1], reordered):
        with pytest.raises(StoreError, match="part 3 was made again"):
            mend(store, damage, lambda number, made=made: made)
        assert contents(store) == damaged


@pytest.mark.parametrize("name", [PARTS, MANIFEST])
def test_damage_is_not_looked_for_where_what_tells_of_the_parts_is_damaged(tmp_path, name):
    store = tmp_path / "store"
    merge_ragged(UNEQUAL, store)
    text = (store / name).read_text()
    (store / name).write_text(text.replace("float", "flaot").replace("<f4", "<f8"))
    with pytest.raises(StoreError, match=f"{name} is damaged"):
        damage_of(store)
