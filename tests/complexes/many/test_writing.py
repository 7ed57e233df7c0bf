import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

from cellformer.complexes.graph import Graph
from cellformer.complexes.many import writing
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.many.store import (
    StoreError,
    merge_ragged,
    merge_stores,
    open_ragged,
    save_ragged,
)
from cellformer.encodings.encode import encode
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.lifting.rings import Rings
from cellformer.lifting.skeleton import Skeleton
from tiny import SMILES


def collection(lifting, texts, targets=True):
    complexes = [encode(lifting(Graph.from_smiles(text)), RWBSPe(3)) for text in texts]
    return RaggedComplexes.from_complexes(
        complexes, np.arange(len(texts), dtype=float) if targets else None
    )


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def parts():
    """Some without faces, one without even edges, so that their ranks differ in number."""
    return [
        collection(Rings(), SMILES[:7]),
        collection(Skeleton(), SMILES[7:9]),
        collection(Skeleton(), ["C"]),
        collection(Rings(), SMILES[9:]),
    ]


@pytest.mark.parametrize("chunk", [1, 50, writing.CHUNK_BYTES])
def test_a_store_has_the_bytes_that_numpy_writes_of_all_complexes(
    tmp_path, monkeypatch, parts, chunk
):
    monkeypatch.setattr(writing, "CHUNK_BYTES", chunk)
    for number, part in enumerate(parts):
        save_ragged(part, tmp_path / str(number))
    merge_stores([tmp_path / str(number) for number in range(4)], tmp_path / "all", {"a": 1})
    together = RaggedComplexes.concatenate(parts)
    for number, rank in enumerate(together.ranks):
        for name in RaggedRank.ARRAYS:
            np.save(tmp_path / "expected.npy", getattr(rank, name))
            written = (tmp_path / "all" / f"rank{number}_{name}.npy").read_bytes()
            assert written == (tmp_path / "expected.npy").read_bytes(), (number, name)
    save_ragged(together, tmp_path / "saved", {"a": 1})
    merge_ragged(parts, tmp_path / "merged", {"a": 1})
    assert contents(tmp_path / "all") == contents(tmp_path / "saved")
    assert contents(tmp_path / "all") == contents(tmp_path / "merged")
    open_ragged(tmp_path / "all", verify=True)


def test_at_most_two_files_of_the_parts_are_mapped_at_a_time(tmp_path, monkeypatch, parts):
    stores = []
    for number in range(12):
        save_ragged(parts[number % 4], tmp_path / str(number))
        stores.append(tmp_path / str(number))
    load, mapped, most = np.load, set(), []

    def loaded(*arguments, **options):
        array = load(*arguments, **options)
        mapped.add(id(array))
        weakref.finalize(array, mapped.discard, id(array))
        most.append(len(mapped))
        return array

    monkeypatch.setattr(np, "load", loaded)
    merge_stores(stores, tmp_path / "all")
    assert len(most) > 150
    assert max(most) <= 2


def test_a_damaged_part_is_named_and_nothing_is_left(tmp_path, parts):
    for number in range(2):
        save_ragged(parts[0], tmp_path / str(number))
    os.truncate(tmp_path / "1" / "rank0_encodings.npy", 140)
    with pytest.raises(StoreError, match=r"1/rank0_encodings\.npy has 140 bytes"):
        merge_stores([tmp_path / "0", tmp_path / "1"], tmp_path / "all")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0", "1"]


def test_parts_that_do_not_carry_the_same_are_told_by_number(tmp_path, parts):
    bare = collection(Rings(), SMILES[:3], targets=False)
    with pytest.raises(ValueError, match="part 2 has targets where part 0 has none, or the"):
        merge_ragged([parts[0], parts[1], bare], tmp_path / "all")


SCRIPT = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
import numpy as np
from cellformer.data.dataset import GraphSet, SmilesList
from cellformer.data.preparing import prepare as module
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.lifting.rings import Rings
module.SHARD_ROWS = 1
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
