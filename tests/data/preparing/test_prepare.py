import logging
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cellformer.basics.files import cache_root
from cellformer.complexes import examples
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.parts import StoreError
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.polygons import edge_ends
from cellformer.complexes.relabel import flip as turn
from cellformer.data.cell_targets import with_cell_targets
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import GraphSet, SmilesList, Task
from cellformer.data.flat import in_memory
from cellformer.data.preparing import shards
from cellformer.data.preparing.prepare import PreparationError, prepare
from cellformer.encodings.encode import encode
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.encodings.zeros import Zeros
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.own_cells import OwnCells
from cellformer.lifting.skeleton import Skeleton
from stored import flip

LIFTING, ENCODINGS = InducedCycles(max_length=6), [RWBSPe(3)]


def cycles(count):
    """Cycles of 3, 4, 5 ... vertices, each with its size as target."""
    graphs = [
        Graph.from_edges([(i, (i + 1) % n) for i in range(n)], vertex_features=np.arange(n))
        for n in range(3, 3 + count)
    ]
    sizes = np.arange(3.0, 3 + count)
    return in_memory(graphs, sizes, Task("regression", ("size",), "mae"))


def smiles_set(*smiles):
    molecules = SmilesList(smiles)
    return GraphSet(
        "mine", molecules, np.zeros((len(smiles), 0), np.float32), None, None,
        molecules.digest(),
    )  # fmt: skip


def assert_equal(left, right):
    assert len(left.ranks) == len(right.ranks)
    for one, other in zip(left.ranks, right.ranks, strict=True):
        for name in RaggedRank.ARRAYS:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@dataclass(frozen=True)
class Recorded:
    """A lifting that writes down every graph it sees and stops where a file tells it to."""

    folder: str  # a text, as what a path leads to could change

    def __call__(self, graph):
        if Path(self.folder, f"stop at {graph.num_vertices}").exists():
            raise KeyboardInterrupt
        with Path(self.folder, "seen").open("a") as stream:
            stream.write(f"{graph.num_vertices}\n")
        return LIFTING(graph)

    def seen(self):
        file = Path(self.folder, "seen")
        lines = file.read_text().split() if file.exists() else []
        file.unlink(missing_ok=True)
        return [int(line) for line in lines]


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr("cellformer.data.preparing.shards.SHARD_ROWS", 4)


@pytest.mark.usefixtures("small_shards")
def test_prepared_complexes_equal_those_made_one_by_one(tmp_path):
    source = cycles(10)
    prepared = prepare(source, LIFTING, ENCODINGS, cache_dir=tmp_path)
    expected = [encode(LIFTING(source.graph(row)), ENCODINGS) for row in range(10)]
    assert_equal(prepared.complexes, RaggedComplexes.from_complexes(expected))
    np.testing.assert_array_equal(prepared.complexes.targets, source.targets)
    assert prepared.rows.tolist() == list(range(10))
    assert prepared.failures == ()
    assert isinstance(prepared.complexes.ranks[0].faces, np.memmap)


@pytest.mark.usefixtures("small_shards")
def test_a_second_call_makes_nothing(tmp_path):
    lifting = Recorded(str(tmp_path))
    first = prepare(cycles(6), lifting, ENCODINGS, cache_dir=tmp_path)
    assert lifting.seen() == [3, 4, 5, 6, 7, 8]
    second = prepare(cycles(6), lifting, ENCODINGS, cache_dir=tmp_path)
    assert lifting.seen() == []
    assert_equal(first.complexes, second.complexes)


def test_every_changed_choice_is_prepared_anew(tmp_path):
    def cells(source, lifting, encodings):
        ragged = prepare(source, lifting, encodings, cache_dir=tmp_path).complexes
        return (len(ragged), ragged.num_cells[:, -1].sum(), ragged.ranks[0].encodings.shape[1])

    assert cells(cycles(4), LIFTING, [RWBSPe(3)]) == (4, 4, 3)
    assert cells(cycles(4), LIFTING, [RWBSPe(4)]) == (4, 4, 4)  # another k
    assert cells(cycles(4), InducedCycles(max_length=4), [RWBSPe(3)]) == (4, 2, 3)
    assert cells(cycles(5), LIFTING, [RWBSPe(3)]) == (5, 4, 3)
    assert cells(cycles(4), LIFTING, [RWBSPe(3), Zeros(2)]) == (4, 4, 5)
    assert len(list((tmp_path / "prepared").glob("*.lock"))) == 5


def test_other_targets_use_the_same_store(tmp_path):
    source = cycles(4)
    prepare(source, LIFTING, ENCODINGS, cache_dir=tmp_path)
    doubled = in_memory([source.graph(row) for row in range(4)], 2 * source.targets, source.task)
    again = prepare(doubled, LIFTING, ENCODINGS, cache_dir=tmp_path)
    np.testing.assert_array_equal(again.complexes.targets, 2 * source.targets)
    assert len(list((tmp_path / "prepared").glob("*.lock"))) == 1


@pytest.mark.usefixtures("small_shards")
def test_interrupted_work_goes_on_where_it_stopped(tmp_path):
    lifting = Recorded(str(tmp_path))
    (tmp_path / "stop at 10").touch()
    with pytest.raises(KeyboardInterrupt):
        prepare(cycles(12), lifting, ENCODINGS, cache_dir=tmp_path)
    assert lifting.seen() == [3, 4, 5, 6, 7, 8, 9]
    (tmp_path / "stop at 10").unlink()
    resumed = prepare(cycles(12), lifting, ENCODINGS, cache_dir=tmp_path)
    assert lifting.seen() == [7, 8, 9, 10, 11, 12, 13, 14]
    assert_equal(
        resumed.complexes, prepare(cycles(12), LIFTING, ENCODINGS, cache_dir=tmp_path).complexes
    )
    left = [file.name for file in (tmp_path / "prepared").iterdir()]
    assert len(left) == 4  # two stores and their locks


def test_bad_molecules_are_reported_and_the_others_are_prepared(tmp_path):
    source = smiles_set("CCO", "nope", "c1ccccc1", "", "C", "[Na+].[Cl-]")
    prepared = prepare(source, LIFTING, ENCODINGS, cache_dir=tmp_path)
    assert prepared.rows.tolist() == [0, 2, 4, 5]
    assert [row for row, _ in prepared.failures] == [1, 3]
    assert "'nope' is not a SMILES" in prepared.failures[0][1]
    assert prepared.complexes.num_cells.tolist() == [[3, 2, 0], [6, 6, 1], [1, 0, 0], [2, 0, 0]]
    assert prepared.complexes.targets is None
    assert prepared.numbers(np.array([5, 3, 0, 2, 99])).tolist() == [3, 0, 1]
    again = prepare(source, LIFTING, ENCODINGS, cache_dir=tmp_path)
    assert again.failures == prepared.failures
    assert again.rows.tolist() == prepared.rows.tolist()


def test_nothing_but_bad_molecules_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="none of 2 rows has a complex; row 0: 'x' is not"):
        prepare(smiles_set("x", "y"), LIFTING, ENCODINGS, cache_dir=tmp_path)


@pytest.mark.usefixtures("small_shards")
def test_a_graph_over_the_limit_fails_or_is_skipped_as_asked(tmp_path):
    pairs = [(i, j) for i in range(9) for j in range(i)]
    clique = Graph.from_edges(pairs, vertex_features=np.zeros(9, int))
    graphs = [cycles(1).graph(0)] * 5
    source = in_memory([*graphs, clique, *graphs], name="mixed")
    lifting = InducedCycles(max_cells=20)
    for _ in range(2):
        with pytest.raises(
            PreparationError, match=r"mixed, row 5 .*mixed\[5\].*over_limit='skip'"
        ) as e:
            prepare(source, lifting, ENCODINGS, cache_dir=tmp_path)
        assert e.value.row == 5
    skipped = prepare(source, lifting, ENCODINGS, cache_dir=tmp_path, over_limit="skip")
    assert skipped.rows.tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert skipped.failures[0][0] == 5
    with pytest.raises(PreparationError):  # also when the store is there
        prepare(source, lifting, ENCODINGS, cache_dir=tmp_path)


@dataclass(frozen=True)
class Faulty:
    def __call__(self, graph):
        if graph.num_vertices == 5:
            raise ZeroDivisionError("by zero")
        return LIFTING(graph)


def test_any_other_error_names_the_graph(tmp_path):
    with pytest.raises(
        PreparationError, match=r"row 2 .*'graphs\[2\]'.*ZeroDivisionError: by zero"
    ):
        prepare(cycles(4), Faulty(), ENCODINGS, cache_dir=tmp_path)


@pytest.mark.usefixtures("small_shards")
def test_spawned_processes_give_the_same_store(tmp_path):
    source = cycles(10)
    alone = prepare(source, LIFTING, ENCODINGS, cache_dir=tmp_path / "a")
    together = prepare(source, LIFTING, ENCODINGS, cache_dir=tmp_path / "b", workers=2)
    assert_equal(alone.complexes, together.complexes)
    np.testing.assert_array_equal(together.complexes.targets, source.targets)


def test_errors_of_spawned_processes_keep_their_kind(tmp_path):
    clique = Graph.from_edges([(i, j) for i in range(9) for j in range(i)])
    source = in_memory([clique], name="one")
    with pytest.raises(PreparationError, match="one, row 0") as error:
        prepare(source, InducedCycles(max_cells=20), ENCODINGS, cache_dir=tmp_path, workers=2)
    assert error.value.row == 0


def test_a_lambda_is_prepared_in_this_process_and_cached(tmp_path, caplog):
    calls = []

    def lifting(graph, seen=tmp_path):
        with (seen / "count").open("a") as stream:
            stream.write("x")
        return LIFTING(graph)

    for _ in range(2):
        with caplog.at_level(logging.WARNING):
            prepared = prepare(
                cycles(3), lambda g: LIFTING(g), ENCODINGS, cache_dir=tmp_path, workers=2
            )
        calls.append(len(prepared.complexes))
    assert calls == [3, 3]
    assert "cannot be sent to others" in caplog.text
    # A path is nothing whose text is known, so this one is never cached.
    for _ in range(2):
        prepare(cycles(3), lifting, ENCODINGS, cache_dir=tmp_path)
    assert (tmp_path / "count").read_text() == "x" * 6
    assert "prepared without a cache" in caplog.text


def test_uncached_complexes_outlive_their_folder(tmp_path):
    class Opaque:
        def __call__(self, graph):
            return LIFTING(graph)

    prepared = prepare(cycles(3), Opaque(), ENCODINGS, cache_dir=tmp_path)
    assert prepared.complexes.num_cells.tolist() == [[3, 3, 1], [4, 4, 1], [5, 5, 1]]
    assert not (tmp_path / "prepared").exists()


def store_in(cache):
    (store,) = (path for path in (cache / "prepared").iterdir() if path.is_dir())
    return store


def warnings_of(caplog):
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


def test_a_store_whose_parts_are_unknown_is_kept_once_and_made_again(tmp_path, caplog):
    first = prepare(cycles(3), LIFTING, ENCODINGS, cache_dir=tmp_path)
    expected = first.complexes.take([0, 1, 2])
    store = store_in(tmp_path)
    for name, place in [("manifest.json", 200), ("parts.jsonl", 200)]:
        caplog.clear()
        flip(store / name, place)
        again = prepare(cycles(3), LIFTING, ENCODINGS, cache_dir=tmp_path)
        (told,) = warnings_of(caplog)
        assert f"{store / name} " in told
        assert told.endswith(f"it is kept as {store}.damaged and made again")
        assert_equal(again.complexes, expected)
        left = {path.name for path in store.parent.iterdir()}
        assert left == {store.name, f"{store.name}.damaged", f"{store.name}.lock"}


def truncate(file, place):
    os.truncate(file, place)


def remove(file, place):
    file.unlink()


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize(
    ("damage", "name", "place", "seen"),
    [
        (flip, "rank0_encodings.npy", -3, [11, 12]),
        (flip, "rank0_encodings.npy", 128, [3, 4, 5, 6]),
        (flip, "rank1_faces.npy", 70, []),  # of the header
        (flip, "rank2_offsets.npy", 128 + 8 * 5 + 1, [7, 8, 9, 10]),
        (truncate, "rank1_signs.npy", -1 - 2 * 24, [7, 8, 9, 10, 11, 12]),
        (truncate, "rank1_signs.npy", 5, [*range(3, 13)]),
        (remove, "encoding_signs.npy", 0, [3, 4, 5, 6]),
        (remove, "rank1_face_offsets.npy", 0, [*range(3, 13)]),
    ],
)
def test_only_the_damaged_parts_of_a_store_are_made_again(
    tmp_path, caplog, damage, name, place, seen
):
    lifting = Recorded(str(tmp_path))
    prepare(cycles(10), lifting, ENCODINGS, cache_dir=tmp_path)
    store, right = store_in(tmp_path), bytes_in(tmp_path)
    file = store / name
    damage(file, file.stat().st_size + place if damage is truncate and place < 0 else place)
    assert bytes_in(tmp_path) != right
    lifting.seen()
    again = prepare(cycles(10), lifting, ENCODINGS, cache_dir=tmp_path)
    assert lifting.seen() == seen
    assert bytes_in(tmp_path) == right
    (told,) = warnings_of(caplog)
    assert str(file) in told
    assert [
        f"{first - 3} to {last - 3}" in told for first, last in ((3, 6), (7, 10), (11, 12))
    ] == [first in seen for first in (3, 7, 11)]
    assert {path.name for path in store.parent.iterdir()} == {store.name, f"{store.name}.lock"}
    expected = prepare(cycles(10), LIFTING, ENCODINGS, cache_dir=tmp_path / "other")
    assert_equal(again.complexes, expected.complexes)


@pytest.mark.usefixtures("small_shards")
def test_damage_that_is_found_when_a_part_is_read_is_mended_by_the_next_call(tmp_path, monkeypatch):
    for module in ("cellformer.basics.verified", "cellformer.complexes.many.store"):
        monkeypatch.setattr(f"{module}.REMEMBERED_FROM", 1)
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path))
    lifting = Recorded(str(tmp_path))
    prepare(cycles(10), lifting, ENCODINGS)
    right, store = bytes_in(tmp_path), store_in(tmp_path)
    flip(store / "rank0_encodings.npy", -3)
    lifting.seen()
    opened = prepare(cycles(10), lifting, ENCODINGS).complexes
    assert opened.take([7]).num_cells.tolist() == [[10, 10, 0]]
    for _ in range(2):
        with pytest.raises(StoreError, match=r"rank0_encodings\.npy is damaged .* part 2\); begin"):
            opened.take([7, 8])
    again = prepare(cycles(10), lifting, ENCODINGS).complexes
    assert lifting.seen() == [11, 12]
    assert bytes_in(tmp_path) == right
    assert again.take([7, 8]).num_cells[:, 0].tolist() == [10, 11]


@dataclass(frozen=True)
class Changing:
    """A lifting that is not what it says: it gives other complexes while a file is there."""

    folder: str

    def __call__(self, graph):
        changed = Path(self.folder, "changed").exists()
        return InducedCycles(max_length=3 if changed else 6)(graph)


@pytest.mark.usefixtures("small_shards")
def test_rows_that_give_something_else_than_they_gave_are_not_mixed_with_others(tmp_path, caplog):
    prepare(cycles(10), Changing(str(tmp_path)), ENCODINGS, cache_dir=tmp_path)
    (tmp_path / "changed").touch()
    store = store_in(tmp_path)
    flip(store / "rank0_encodings.npy", 128)
    damaged = (store / "rank0_encodings.npy").read_bytes()
    again = prepare(cycles(10), Changing(str(tmp_path)), ENCODINGS, cache_dir=tmp_path)
    *_, told, last = warnings_of(caplog)
    assert "part 0 was made again, and is not what it was" in told
    assert last.endswith(f"it is kept as {store}.damaged and made again")
    kept = store.with_name(f"{store.name}.damaged")
    assert (kept / "rank0_encodings.npy").read_bytes() == damaged
    other = InducedCycles(max_length=3)
    expected = prepare(cycles(10), other, ENCODINGS, cache_dir=tmp_path / "other")
    assert_equal(again.complexes, expected.complexes)


@pytest.mark.usefixtures("small_shards")
def test_rows_that_cannot_be_made_again_leave_the_store_as_it_is(tmp_path):
    lifting = Recorded(str(tmp_path))
    prepare(cycles(6), lifting, ENCODINGS, cache_dir=tmp_path)
    store, right = store_in(tmp_path), bytes_in(tmp_path)
    flip(store / "rank0_encodings.npy", -3)
    damaged = bytes_in(tmp_path)
    (tmp_path / "stop at 7").touch()
    with pytest.raises(KeyboardInterrupt):
        prepare(cycles(6), lifting, ENCODINGS, cache_dir=tmp_path)
    assert bytes_in(tmp_path).items() >= damaged.items()
    (tmp_path / "stop at 7").unlink()
    prepare(cycles(6), lifting, ENCODINGS, cache_dir=tmp_path)
    assert bytes_in(tmp_path) == right


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("name", ["rank0_encodings.npy", "parts.jsonl"])
def test_a_damaged_part_of_interrupted_work_is_named_and_made_again(tmp_path, caplog, name):
    lifting = Recorded(str(tmp_path))
    (tmp_path / "stop at 12").touch()
    with pytest.raises(KeyboardInterrupt):
        prepare(cycles(12), lifting, ENCODINGS, cache_dir=tmp_path)
    (tmp_path / "stop at 12").unlink()
    lifting.seen()
    (store,) = (tmp_path / "prepared").glob("*.shards/store")
    flip(store / name, -30)
    resumed = prepare(cycles(12), lifting, ENCODINGS, cache_dir=tmp_path)
    assert lifting.seen() == [7, 8, 9, 10, 11, 12, 13, 14]
    (told,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert str(store / name) in told
    other = prepare(cycles(12), LIFTING, ENCODINGS, cache_dir=tmp_path / "other")
    assert_equal(resumed.complexes, other.complexes)


def second_first(tasks):
    """Makes the second shard, and stops."""
    _, second, *_ = tasks
    yield second.start, second()
    raise KeyboardInterrupt


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("damaged", [False, True])
def test_a_shard_waits_for_those_before_it_also_in_the_next_attempt(tmp_path, caplog, damaged):
    lifting = Recorded(str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        prepare(cycles(12), lifting, ENCODINGS, cache_dir=tmp_path, executor=second_first)
    assert lifting.seen() == [7, 8, 9, 10]
    (shard,) = (tmp_path / "prepared").glob("*.shards/rows-*")
    assert shard.name == "rows-000000004.npz"
    if damaged:
        flip(shard, shard.stat().st_size // 2)
    resumed = prepare(cycles(12), lifting, ENCODINGS, cache_dir=tmp_path)
    assert lifting.seen() == [3, 4, 5, 6, *([7, 8, 9, 10] if damaged else []), 11, 12, 13, 14]
    told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert [str(shard) in each for each in told] == [True] * damaged
    other = prepare(cycles(12), LIFTING, ENCODINGS, cache_dir=tmp_path / "other")
    assert_equal(resumed.complexes, other.complexes)


def damaging(tasks):
    for task in tasks:
        shard = task()
        flip(task.file, task.file.stat().st_size // 2)
        yield task.start, shard


@pytest.mark.usefixtures("small_shards")
def test_a_shard_that_is_damaged_before_it_is_appended_is_made_again(tmp_path, caplog):
    made = prepare(cycles(6), LIFTING, ENCODINGS, cache_dir=tmp_path / "a", executor=damaging)
    told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert ["rows-000000000.npz" in told[0], "rows-000000004.npz" in told[1]] == [True, True]
    assert_equal(
        made.complexes,
        prepare(cycles(6), LIFTING, ENCODINGS, cache_dir=tmp_path / "b").complexes,
    )


@pytest.mark.usefixtures("small_shards")
def test_shards_are_gone_when_they_are_in_the_store(tmp_path):
    left = []

    def watched(tasks):
        for task in tasks:
            yield task.start, task()
            left.extend(task.file.parent.glob("rows-*"))

    prepare(cycles(12), LIFTING, ENCODINGS, cache_dir=tmp_path, executor=watched)
    assert left == []


def chains(count):
    return smiles_set(*("C" * (row % 7 + 1) + "NOF"[row % 3] for row in range(count)))


def bytes_in(folder):
    """Of the files of all stores, by the store and their names."""
    files = (file for file in (folder / "prepared").glob("*/*") if file.is_file())
    return {(file.parent.name, file.name): file.read_bytes() for file in files}


@pytest.mark.usefixtures("small_shards")
def test_rows_added_to_molecules_are_prepared_alone_to_the_bytes_of_all(tmp_path, caplog):
    lifting = Recorded(str(tmp_path))
    caplog.set_level(logging.INFO)
    for rows in (6, 10, 11):
        prepare(chains(rows), lifting, ENCODINGS, cache_dir=tmp_path / "grown")
    assert len(lifting.seen()) == 6 + (10 - 4) + (11 - 8)  # whole shards of four are of use
    told = [each.getMessage() for each in caplog.records]
    assert [line.partition(" (")[0] for line in told if "before" in line] == [
        "mine: the first 6 of its 10 rows were prepared before",
        "mine: the first 10 of its 11 rows were prepared before",
    ]
    others = smiles_set("O", *chains(11).smiles)
    for source in (others, chains(3)):  # not at the end, and fewer
        prepare(source, lifting, ENCODINGS, cache_dir=tmp_path / "grown")
        assert len(lifting.seen()) == len(source)
    for rows in (6, 10, 11):
        prepare(chains(rows), lifting, ENCODINGS, cache_dir=tmp_path / str(rows))
        made = bytes_in(tmp_path / str(rows))
        assert len(made) > 20
        assert made.items() <= bytes_in(tmp_path / "grown").items()


@pytest.mark.usefixtures("small_shards")
def test_damage_in_what_was_prepared_before_is_found_when_it_grows(tmp_path, caplog):
    lifting = Recorded(str(tmp_path))
    prepare(chains(12), lifting, ENCODINGS, cache_dir=tmp_path)
    (store,) = (path for path in (tmp_path / "prepared").iterdir() if path.is_dir())
    flip(store / "rank1_encodings.npy", -3)
    lifting.seen()
    grown = prepare(chains(14), lifting, ENCODINGS, cache_dir=tmp_path)
    assert len(lifting.seen()) == 4 + 2
    assert "rank1_encodings.npy is damaged" in caplog.text
    other = prepare(chains(14), LIFTING, ENCODINGS, cache_dir=tmp_path / "other")
    assert_equal(grown.complexes, other.complexes)


def test_later_shards_are_larger_wherever_a_set_ends(monkeypatch):
    monkeypatch.setattr(shards, "SMALL_SHARDS", 2)
    monkeypatch.setattr(shards, "SHARD_ROWS", 3)
    monkeypatch.setattr(shards, "LARGE_ROWS", 10)
    assert [*shards.shard_bounds(0)] == []
    assert [*shards.shard_bounds(5)] == [(0, 3), (3, 5)]
    assert [*shards.shard_bounds(27)] == [(0, 3), (3, 6), (6, 16), (16, 26), (26, 27)]


def test_a_log_gets_lines_and_silence_gets_nothing(tmp_path, capfd):
    prepare(cycles(3), LIFTING, ENCODINGS, cache_dir=tmp_path / "a")
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[0] == "Preparing graphs: 3 items"
    assert "items/s" in err.splitlines()[1]
    prepare(cycles(3), LIFTING, ENCODINGS, cache_dir=tmp_path / "b", progress=False)
    assert capfd.readouterr() == ("", "")


def test_impossible_options_are_refused(tmp_path):
    with pytest.raises(ValueError, match="workers"):
        prepare(cycles(1), LIFTING, ENCODINGS, cache_dir=tmp_path, workers=-1)


def test_the_cache_lies_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / "here"))
    assert cache_root() == tmp_path / "here"
    prepare(cycles(1), LIFTING, ENCODINGS)
    assert (tmp_path / "here" / "prepared").is_dir()
    monkeypatch.delenv("CELLFORMER_CACHE")
    assert cache_root().name == "cellformer"


SCRIPT = """
    import numpy as np
    from cellformer.complexes.graph import Graph
    from cellformer.data.flat import in_memory
    from cellformer.data.preparing.prepare import prepare
    from cellformer.encodings.rwbspe import RWBSPe
    from cellformer.lifting.induced_cycles import InducedCycles

    def main():
        cycle = [Graph.from_edges([(i, (i + 1) % n) for i in range(n)]) for n in range(3, 40)]
        made = prepare(in_memory(cycle * 40), InducedCycles(), [RWBSPe(8)], workers=WORKERS)
        print(len(made.complexes), made.complexes.ranks[2].encodings.sum())
"""


def start(tmp_path, workers, guard):
    file = tmp_path / "script.py"
    text = textwrap.dedent(SCRIPT).replace("WORKERS", str(workers))
    whole = f"{text}\n{guard}\n"
    if not file.exists() or file.read_text() != whole:  # another process may be reading it
        file.write_text(whole)
    return subprocess.Popen(
        [sys.executable, str(file)],
        env={**os.environ, "CELLFORMER_CACHE": str(tmp_path / "cache")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_on_an_empty_cache_prepare_once(tmp_path):
    guard = 'if __name__ == "__main__":\n    main()'
    processes = [start(tmp_path, 0, guard) for _ in range(2)]
    results = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], results
    assert results[0][0] == results[1][0]
    assert results[0][0].startswith("1480 ")
    assert sum("Preparing" in err for _, err in results) == 1
    assert len(list((tmp_path / "cache" / "prepared").iterdir())) == 2  # the store, its lock


def test_two_processes_that_find_the_same_damage_both_end_well(tmp_path):
    guard = 'if __name__ == "__main__":\n    main()'
    right, _ = start(tmp_path, 0, guard).communicate(timeout=120)
    (store,) = (path for path in (tmp_path / "cache" / "prepared").iterdir() if path.is_dir())
    flip(store / "rank1_faces.npy", -8)
    processes = [start(tmp_path, 0, guard) for _ in range(2)]
    results = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], results
    assert [out for out, _ in results] == [right, right], results
    assert sum("rank1_faces.npy is damaged" in err for _, err in results) == 1


def test_a_preparation_that_is_killed_does_not_block_the_next_one(tmp_path):
    guard = 'if __name__ == "__main__":\n    main()'
    killed, folder = start(tmp_path, 0, guard), tmp_path / "cache" / "prepared"
    deadline = time.monotonic() + 120
    while not any(folder.glob("*.lock")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    process = start(tmp_path, 0, guard)
    out, err = process.communicate(timeout=120)
    assert out.startswith("1480 "), err


def test_a_script_without_a_main_guard_is_told_so_and_does_not_hang(tmp_path):
    process = start(tmp_path, 2, "main()")
    try:
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode != 0
    assert "lacks `if __name__" in err


def test_importing_the_data_layer_loads_nothing_heavy():
    code = (
        "import sys, cellformer.data.preparing.prepare; "  # all that a spawned worker needs
        "heavy = {'torch', 'lightning', 'matplotlib', 'rdkit', 'numba'}; "
        "assert not (heavy | {'pandas', 'pyarrow'}) & set(sys.modules), sys.modules; "
        "import cellformer.data.sources; "  # reads tables
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def flows(cells):
    task = Task("regression", ("flow",), "mae", rank=1, flips=True)
    return complex_set([cells], [np.arange(cells.num_cells[1]) + 1.0], task, name="flows")


def test_targets_that_flip_need_the_orientations_that_they_are_meant_along(tmp_path):
    cells = turn(examples.house(), [None, np.array([1, 1, -1, 1, 1, 1]), None])
    kept = prepare(flows(cells), OwnCells(), ENCODINGS, cache_dir=tmp_path).complexes
    assert kept.targets[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match=r"flows, row 0 .*: cell 2 of rank 1 is not oriented"):
        prepare(flows(cells), LIFTING, ENCODINGS, cache_dir=tmp_path)
    prepare(flows(examples.house()), LIFTING, ENCODINGS, cache_dir=tmp_path)  # from low to high


@dataclass(frozen=True)
class Backward:
    def __call__(self, graph):
        cells = Skeleton()(graph)
        return turn(cells, [None, -np.ones(graph.num_edges, int)])


def test_a_lifting_that_turns_the_edges_of_a_graph_is_told(tmp_path):
    house = examples.house()
    columns = {"flow": np.arange(6.0)}
    graph = Graph.from_edges(edge_ends(house))
    source = with_cell_targets([graph], 1, columns, None, None, None, "g", flips=True)
    prepare(source, Skeleton(), ENCODINGS, cache_dir=tmp_path)
    with pytest.raises(ValueError, match=r"g, row 0 .*: cell 0 of rank 1 is not oriented"):
        prepare(source, Backward(), ENCODINGS, cache_dir=tmp_path)
