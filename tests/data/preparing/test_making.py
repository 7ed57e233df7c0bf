import json
import logging
from dataclasses import dataclass

import numpy as np
import pytest

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.data.complex_list import complex_set
from cellformer.data.dataset import GraphSet, SmilesList
from cellformer.data.flat import in_memory
from cellformer.data.join import JoinedGraphs
from cellformer.data.preparing.prepare import PreparationError, prepare
from cellformer.encodings.rwbspe import RWBSPe
from cellformer.encodings.rwpe import RWPe
from cellformer.lifting.cliques import Cliques
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.own_cells import OwnCells
from liftings import Broken, OneAtATime, Watched

LIFTING, ENCODINGS = InducedCycles(max_length=6, max_cells=20), [RWBSPe(3), RWPe(2)]


@dataclass(frozen=True)
class Alone:
    """An encoding that takes one complex at a time."""

    encoding: object

    @property
    def size(self):
        return self.encoding.size

    def __call__(self, cells):
        return self.encoding(cells)


class NotTogether(Alone):
    """The same, which says that it takes many."""

    def many(self, complexes):
        raise IndexError(f"{len(complexes.ranks[0].encodings)} are too many")


def cycle(vertices):
    return Graph.from_edges([(i, (i + 1) % vertices) for i in range(vertices)])


def clique(vertices):
    return Graph.from_edges([(i, j) for i in range(vertices) for j in range(i)])


def smiles_set(*smiles, **options):
    molecules = SmilesList(smiles, **options)
    none = np.zeros((len(smiles), 0), np.float32)
    return GraphSet("mine", molecules, none, None, None, molecules.digest())


MIXED = [cycle(n) for n in (3, 4)] + [clique(9)] + [cycle(n) for n in (5, 6)] + [clique(8)]


def sources():
    flat = in_memory(MIXED, name="flat")
    joined = JoinedGraphs((flat.graphs.part(0, 3), flat.graphs.part(3, 6)))
    none = np.zeros((6, 0), np.float32)
    molecules = ["C1CC1", "CC", "nope", "C1CCC1C", "", "[CH999]", "C12C3C4C1C5C2C3C45", "CCO"]
    return {
        "flat": flat,
        "joined": GraphSet("joined", joined, none, None, None, "joined"),
        "molecules": smiles_set(*molecules),
        "all over": in_memory([clique(9), clique(8)], name="over"),
    }


@pytest.fixture
def small_shards(monkeypatch):
    monkeypatch.setattr("cellformer.data.preparing.shards.SHARD_ROWS", 4)


def stored(folder):
    """The bytes of all arrays of the one store in a cache, and its failures."""
    (store,) = (path for path in (folder / "prepared").iterdir() if path.is_dir())
    manifest = json.loads((store / "manifest.json").read_text())
    arrays = {file.name: file.read_bytes() for file in store.glob("*.npy")}
    return arrays, manifest["arrays"], manifest["meta"]["failures"]


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("name", ["flat", "joined", "molecules"])
def test_all_at_once_gives_the_bytes_and_reasons_of_one_by_one(tmp_path, name):
    source, limited = sources()[name], InducedCycles(max_length=6, max_cells=5)
    alone = [Alone(encoding) for encoding in ENCODINGS]
    ways = {
        "alone": (OneAtATime(limited), alone),
        "lifted alone": (OneAtATime(limited), ENCODINGS),
        "together": (Watched(limited, str(tmp_path)), ENCODINGS),
    }
    results = []
    for folder, (lifting, encodings) in ways.items():
        options = {"cache_dir": tmp_path / folder, "over_limit": "skip"}
        made = prepare(source, lifting, encodings, **options)
        results.append((made.rows.tolist(), made.failures, *stored(tmp_path / folder)))
        assert made.slow is None
    assert results[0] == results[1] == results[2]
    assert len(results[0][1]) >= 2


@pytest.mark.usefixtures("small_shards")
def test_an_encoding_that_cannot_take_all_at_once_is_told_and_harmless(tmp_path, caplog):
    lifting, source = OneAtATime(LIFTING), in_memory([cycle(n) for n in (3, 4, 5)], name="mine")
    made = prepare(source, lifting, [NotTogether(RWPe(2))], cache_dir=tmp_path / "a")
    assert str(made.slow) == "1 of 1 parts were prepared one by one: IndexError: 12 are too many"
    assert "they are taken one by one: IndexError" in caplog.text
    prepare(source, lifting, [RWPe(2)], cache_dir=tmp_path / "b")
    assert stored(tmp_path / "a") == stored(tmp_path / "b")


@pytest.mark.usefixtures("small_shards")
def test_a_graph_over_the_limit_throws_no_other_onto_the_slow_path(tmp_path, caplog):
    lifting = Watched(LIFTING, str(tmp_path))
    made = prepare(sources()["flat"], lifting, ENCODINGS, cache_dir=tmp_path, over_limit="skip")
    assert lifting.calls() == ["many 4", "many 2"]
    assert made.rows.tolist() == [0, 1, 3, 4]
    assert [row for row, _ in made.failures] == [2, 5]
    assert "graph 'flat[2]' (9 vertices, 36 edges): more than 20 cycles" in made.failures[0][1]
    assert made.slow is None
    assert caplog.records == []


def test_rows_that_are_all_over_the_limit_are_told_as_such(tmp_path):
    lifting = Watched(LIFTING, str(tmp_path))
    with pytest.raises(ValueError, match="none of 2 rows has a complex; row 0: graph 'over"):
        prepare(sources()["all over"], lifting, [], cache_dir=tmp_path, over_limit="skip")
    assert lifting.calls() == ["many 2"]


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_many_at_once_is_told_once_counted_and_harmless(tmp_path, caplog, workers):
    source = in_memory([cycle(n) for n in (3, 4, 5, 6, 3, 3, 4, 4, 5, 5, 6, 6)], name="mine")
    with caplog.at_level(logging.WARNING):
        made = prepare(
            source, Broken(LIFTING), ENCODINGS, cache_dir=tmp_path / "a", workers=workers
        )
    told = [record.getMessage() for record in caplog.records]
    at_once = "rows 0 to 3 could not be prepared all at once, so they are taken one by one: "
    counted = "mine: 2 of 3 parts were prepared one by one: IndexError: 5 are too many"
    in_this_process = [at_once + "IndexError: 5 are too many"] if not workers else []
    assert told == [*in_this_process, counted]
    assert (made.slow.count, made.slow.of) == (2, 3)
    assert f"mine: {made.slow}" == counted
    prepare(source, LIFTING, ENCODINGS, cache_dir=tmp_path / "b")
    assert stored(tmp_path / "a") == stored(tmp_path / "b")
    again = prepare(source, Broken(LIFTING), ENCODINGS, cache_dir=tmp_path / "a")
    assert again.slow is None  # nothing had to be prepared


@pytest.mark.usefixtures("small_shards")
def test_the_cause_is_kept_with_finished_parts(tmp_path, monkeypatch):
    source = in_memory([cycle(n) for n in (5, 3, 3, 3, 4, 4)], name="mine")
    with monkeypatch.context() as patch:

        def interrupted(*_):
            raise KeyboardInterrupt

        patch.setattr("cellformer.complexes.many.growing.GrowingStore.finish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepare(source, Broken(LIFTING), ENCODINGS, cache_dir=tmp_path)
    made = prepare(source, Broken(LIFTING), ENCODINGS, cache_dir=tmp_path)
    assert str(made.slow) == "1 of 2 parts were prepared one by one: IndexError: 5 are too many"


def test_a_lifting_that_loses_complexes_is_not_believed(tmp_path):
    source = in_memory([cycle(n) for n in (3, 4, 5)], name="mine")
    made = prepare(source, Broken(LIFTING, loses=1), ENCODINGS, cache_dir=tmp_path)
    assert made.complexes.num_cells[:, 0].tolist() == [3, 4, 5]
    assert "returned 2 complexes and 0 graphs over a limit for 3 graphs" in made.slow.cause


@dataclass(frozen=True)
class OldForm:
    def __call__(self, graph):
        return LIFTING(graph)

    def many(self, graphs):
        return LIFTING.many(graphs).complexes


def test_a_lifting_that_returns_something_else_is_told_what_to_return(tmp_path):
    source = in_memory([cycle(3)], name="mine")
    made = prepare(source, OldForm(), ENCODINGS, cache_dir=tmp_path)
    assert "must return Lifted, it returned RaggedComplexes" in made.slow.cause


def test_whether_many_can_be_taken_at_once_is_asked(tmp_path, caplog):
    square = CellComplex.from_boundaries([np.array([[-1.0], [1.0]])])
    for number, (source, lifting) in enumerate(
        [
            (complex_set([square, square]), OwnCells(LIFTING)),
            (in_memory([cycle(3), clique(4)]), OwnCells(Cliques())),
            (in_memory([cycle(3)]), Cliques()),
        ]
    ):
        made = prepare(source, lifting, ENCODINGS, cache_dir=tmp_path / str(number))
        assert made.slow is None
        assert len(made.complexes) == len(source)
    assert caplog.records == []


def test_mere_graphs_go_all_at_once_to_what_lifts_them(tmp_path):
    lifting = Watched(LIFTING, str(tmp_path))
    prepare(in_memory([cycle(3), cycle(4)]), OwnCells(OwnCells(lifting)), [], cache_dir=tmp_path)
    assert lifting.calls() == ["many 2"]


NEIGHBORS = "*" + "(C)" * 129 + "C"


def test_rows_that_rdkit_fails_on_are_rows_without_a_complex(tmp_path):
    source = smiles_set("CCO", "[CH999]", "C1CC1", "[CH200]", NEIGHBORS, "C")
    made = prepare(source, LIFTING, ENCODINGS, cache_dir=tmp_path)
    assert made.rows.tolist() == [0, 2, 5]
    reasons = dict(made.failures)
    assert "999 hydrogens" in reasons[1]
    assert "200 hydrogens" in reasons[3]
    assert "130 neighbors" in reasons[4]


def test_a_row_without_a_description_is_a_row_without_a_complex(tmp_path, monkeypatch):
    monkeypatch.setattr("cellformer.chemistry.fingerprints.MAX_ATOMS", 4)
    source = smiles_set("CCO", "nope", "C1CCCC1", "CC", descriptors="morgan")
    made = prepare(source, LIFTING, ENCODINGS, cache_dir=tmp_path)
    assert made.rows.tolist() == [0, 3]
    assert "5 atoms; fingerprints" in dict(made.failures)[2]
    expected = source.graphs.described(np.array([0, 3])).counts
    np.testing.assert_array_equal(made.complexes.descriptors.counts, expected)
    with pytest.raises(ValueError, match=r"none of 1 rows has a complex.*fingerprints"):
        prepare(smiles_set("C1CCCC1", descriptors="morgan"), LIFTING, [], cache_dir=tmp_path)


@dataclass(frozen=True)
class Files:
    """Rows whose graphs cannot be made, for reasons of all kinds."""

    errors: tuple[type[Exception] | None, ...]

    def __len__(self):
        return len(self.errors)

    def graph(self, row):
        error = self.errors[row]
        if error is not None:
            raise error("so it is")
        return cycle(3)

    def part(self, start, stop):
        return Files(self.errors[start:stop])


def files(*errors):
    none = np.zeros((len(errors), 0), np.float32)
    return GraphSet("files", Files(errors), none, None, None, f"{errors}")


@pytest.mark.parametrize("lifting", [LIFTING, OneAtATime(LIFTING)])
def test_whatever_the_making_of_a_graph_raises_is_the_reason_of_its_row(tmp_path, lifting):
    source = files(None, KeyError, RuntimeError, ValueError, OverflowError, None)
    made = prepare(source, lifting, ENCODINGS, cache_dir=tmp_path)
    assert made.rows.tolist() == [0, 5]
    assert dict(made.failures) == {
        1: "KeyError: 'so it is'",
        2: "RuntimeError: so it is",
        3: "so it is",
        4: "OverflowError: so it is",
    }
    with pytest.raises(ValueError, match=r"^RuntimeError: so it is$"):
        source.graph(2)


@pytest.mark.parametrize("error", [OSError, MemoryError])
def test_an_error_of_the_machine_is_no_reason_of_a_row(tmp_path, error):
    with pytest.raises(error, match="so it is"):
        prepare(files(None, error), LIFTING, ENCODINGS, cache_dir=tmp_path)


@dataclass(frozen=True)
class Buggy:
    size: int = 2

    def __call__(self, cells):
        raise KeyError("a bug")


def test_a_bug_in_an_encoding_is_seen_and_so_is_what_came_before(tmp_path, caplog):
    source = in_memory([cycle(3), cycle(4)], name="mine")
    with pytest.raises(PreparationError, match=r"row 0 .*KeyError: 'a bug'"):
        prepare(source, LIFTING, [Buggy()], cache_dir=tmp_path)
    assert "could not be prepared all at once" in caplog.text
    assert "KeyError: 'a bug'" in caplog.text
