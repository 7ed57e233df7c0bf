import logging
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.many import growing, writing
from cellformer.complexes.many.growing import GrowingStore
from cellformer.complexes.many.parts import PARTS
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.store import StoreError, merge_ragged, open_ragged, save_ragged
from cellformer.complexes.many.writing import arrays_of, stored_type
from cellformer.lifting.rings import Rings
from cellformer.lifting.skeleton import Skeleton
from stored import collection, contents, path
from tiny import SMILES


def arrays_in(folder):
    return {name: data for name, data in contents(folder).items() if name.endswith(".npy")}


@pytest.fixture
def parts():
    """Some without faces, one without even edges, so that their ranks differ in number."""
    return [
        collection(Skeleton(), ["C"]),
        collection(Rings(), SMILES[:7]),
        collection(Skeleton(), SMILES[7:9]),
        collection(Rings(), SMILES[9:]),
    ]


@pytest.mark.parametrize("chunk", [1, 50, writing.CHUNK_BYTES])
def test_a_store_has_the_bytes_that_numpy_writes_of_all_complexes(
    tmp_path, monkeypatch, parts, chunk
):
    monkeypatch.setattr(writing, "CHUNK_BYTES", chunk)
    merge_ragged(parts, tmp_path / "all", {"a": 1})
    together = RaggedComplexes.concatenate(parts)
    for name, array in arrays_of(together).items():
        np.save(tmp_path / "expected.npy", array.astype(stored_type(name, array)))
        written = (tmp_path / "all" / f"{name}.npy").read_bytes()
        assert written == (tmp_path / "expected.npy").read_bytes(), name
    save_ragged(together, tmp_path / "saved", {"a": 1})
    assert arrays_in(tmp_path / "all") == arrays_in(tmp_path / "saved")
    open_ragged(tmp_path / "all", verify=True)


def test_numbers_get_a_wider_type_when_one_needs_it(tmp_path):
    parts = [path(n) for n in (3, 128, 129, 40_000, 5)]
    for number, part in enumerate(parts):
        merge_ragged(parts[: number + 1], tmp_path / str(number))
        opened, _ = open_ragged(tmp_path / str(number))
        assert opened.ranks[0].discrete.itemsize == [1, 1, 2, 4, 4][number]
        assert opened.ranks[1].faces.itemsize == [1, 1, 2, 4, 4][number]
        assert (opened.take([number]).ranks[1].faces == part.ranks[1].faces).all()
    save_ragged(RaggedComplexes.concatenate(parts), tmp_path / "saved")
    assert arrays_in(tmp_path / "4") == arrays_in(tmp_path / "saved")
    high = np.array([0, 5])
    assert [stored_type("rank1_face_offsets", high, shift) for shift in (0, 2**31)] == ["i4", "i8"]


class Killed(BaseException):
    """In the place of SIGKILL: nothing is done any more."""


def interrupted(folder, parts, monkeypatch, call):
    """Appends until the so-many-th change of any file, which does not happen any more."""
    calls = [0]

    def counted(function):
        def once(*given, **options):
            calls[0] += 1
            if calls[0] == call:
                raise Killed
            return function(*given, **options)

        return once

    with monkeypatch.context() as patch:
        for name in ("add_part", "write_rows", "replace_parts"):
            patch.setattr(growing, name, counted(getattr(growing, name)))
        patch.setattr(growing.Path, "replace", counted(growing.Path.replace))
        patch.setattr(growing.Path, "rename", counted(growing.Path.rename))
        patch.setattr(growing.Path, "write_text", counted(growing.Path.write_text))
        store = GrowingStore(folder / "growing")
        for number in range(len(store.notes), len(parts)):
            store.append(parts[number], f"note {number}")
        store.finish(folder / "store", {"a": 1})


def test_wherever_it_is_killed_it_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    parts = [path(2), None, path(200)]
    interrupted(tmp_path / "whole", parts, monkeypatch, None)
    expected = contents(tmp_path / "whole" / "store")
    call, finished = 0, False
    while not finished:
        call += 1
        folder = tmp_path / str(call)
        try:
            interrupted(folder, parts, monkeypatch, call)
            finished = True
        except Killed:
            with (folder / "growing" / PARTS).open("a") as stream:
                stream.write('{"complexes": 1, "ar')  # and in the middle of a line
            interrupted(folder, parts, monkeypatch, None)
        assert contents(folder / "store") == expected
        assert [each.name for each in folder.iterdir()] == ["store"]
        shutil.rmtree(folder)
    assert call > 45  # every array of two parts, two of them twice, and more


@pytest.mark.parametrize("place", ["array", "line", "end"])
def test_what_is_damaged_is_told_and_cut_off_when_a_store_goes_on(tmp_path, parts, caplog, place):
    store = GrowingStore(tmp_path / "growing")
    for number, part in enumerate(parts[:3]):
        store.append(part, str(number))
    file = tmp_path / "growing" / ("rank1_encodings.npy" if place == "array" else PARTS)
    if place == "end":
        file = tmp_path / "growing" / "rank0_encodings.npy"
        os.truncate(file, file.stat().st_size - 3)
    else:
        data = bytearray(file.read_bytes())
        data[-3] ^= 1
        file.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        again = GrowingStore(tmp_path / "growing")
    [told] = [record.getMessage() for record in caplog.records]
    assert str(file) in told
    assert again.notes == ["0", "1"]
    for part in parts[2:]:
        again.append(part)
    again.finish(tmp_path / "store", {})
    merge_ragged(parts, tmp_path / "expected")
    assert arrays_in(tmp_path / "store") == arrays_in(tmp_path / "expected")


def test_a_damaged_array_is_not_given_another_type(tmp_path):
    store = GrowingStore(tmp_path / "growing")
    store.append(path(3))
    file = tmp_path / "growing" / "rank0_discrete.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"\x07")
    with pytest.raises(StoreError, match=r"rank0_discrete\.npy is damaged"):
        store.append(path(300))


def test_parts_that_do_not_carry_the_same_are_told_by_number(tmp_path, parts):
    bare = collection(Rings(), SMILES[:3], targets=False)
    with pytest.raises(ValueError, match="part 2 has targets where part 0 has none, or the"):
        merge_ragged([parts[0], parts[1], bare], tmp_path / "all")
    plain = RaggedComplexes.from_complexes([CellComplex.from_boundaries([np.zeros((2, 0))])])
    with pytest.raises(ValueError, match="rank0_discrete: part 1 has rows of shape"):
        merge_ragged([plain, path(3)], tmp_path / "all")
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
import numpy as np
from cellformer.data.dataset import GraphSet, SmilesList
from cellformer.data.preparing import prepare as module, shards
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.lifting.rings import Rings
shards.SHARD_ROWS = 1
smiles = SmilesList(("C1CC1", "CCO", "C") * 21 + ("no molecule",))
source = GraphSet("m", smiles, np.zeros((64, 0), np.float32), None, None, smiles.digest())
made = module.prepare(source, Rings(), [RWBSPe(2)], cache_dir=sys.argv[1], progress=False)
print(len(made.complexes), made.complexes.ranks[2].offsets[-1], made.failures[0][0])
"""


def test_files_that_may_be_open_do_not_limit_the_number_of_shards(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["63", "21", "63"], done.stderr
