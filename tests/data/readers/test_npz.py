import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cellformer.complexes.graph import Graph
from cellformer.data.dataset import Task
from cellformer.data.readers.npz import read_npz, write_npz


def arrays(**changed):
    """Two graphs, a triangle and an edge beside an isolated node; None removes an array."""
    good = {
        "num_nodes": np.array([3, 3]),
        "num_edges": np.array([3, 1]),
        "edge_index": np.array([[0, 1, 2, 0], [1, 2, 0, 1]], np.uint8),
        "node_type": np.array([0, 1, 2, 3, 4, 5], np.uint8),
        "edge_length": np.array([1.0, 2.0, 3.0, 4.0]),
        "y": np.array([0.5, np.nan]),
    }
    return {key: value for key, value in {**good, **changed}.items() if value is not None}


def stored(tmp_path, **changed):
    file = tmp_path / "set.npz"
    np.savez(file, **arrays(**changed))
    return file


def test_graphs_features_and_targets_are_read(tmp_path):
    graphs = read_npz(stored(tmp_path))
    assert (graphs.name, len(graphs), graphs.split) == ("set", 2, None)
    assert graphs.task == Task("regression", ("y",), "mae")
    np.testing.assert_array_equal(graphs.targets, [[0.5], [np.nan]])
    assert graphs.labeled().tolist() == [1]
    first, second = graphs.graph(0), graphs.graph(1)
    assert first.edges.tolist() == [[0, 1], [1, 2], [0, 2]]  # low to high, in the file's order
    assert first.edge_features.continuous.ravel().tolist() == [1, 2, 3]
    assert second.edges.tolist() == [[0, 1]]
    assert second.vertex_features.discrete.ravel().tolist() == [3, 4, 5]
    assert "set[1]" in second.name


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"num_nodes": None}, "'num_nodes' is missing"),
        ({"num_edges": None}, "'num_edges' is missing"),
        ({"edge_index": None}, "'edge_index' is missing"),
        ({"num_nodes": np.array([3.0, 3.0])}, "'num_nodes' must hold integers"),
        ({"num_nodes": np.array([3, -3])}, "'num_nodes' must be a list of counts"),
        ({"num_nodes": np.array([6])}, "'num_nodes' counts 1 graphs, 'num_edges' 2"),
        ({"edge_index": np.zeros((4, 2), int)}, r"'edge_index' has shape \(4, 2\)"),
        ({"num_edges": np.array([3, 2])}, r"'edge_index' has shape \(2, 4\), expected \(2, 5\)"),
        (
            {"edge_index": np.array([[0, 1, 2, 0], [1, 2, 0, 3]])},
            "'edge_index' column 3 .* graph 1 has nodes 0..2",
        ),
        ({"edge_index": np.array([[0, 1, -2, 0], [1, 2, 0, 1]])}, "column 2"),
        ({"node_type": np.zeros(5, int)}, "'node_type' has 5 rows for 6 nodes"),
        ({"edge_length": np.zeros(5)}, "'edge_length' has 5 rows for 4 edges"),
        ({"node_type": np.full(6, -1)}, "'node_type' has a negative category"),
        ({"node_type": np.full(6, 2**40)}, "'node_type' has a category too large"),
        ({"edge_length": np.full(4, np.inf)}, "'edge_length' has a value that is not finite"),
        ({"edge_length": np.zeros((4, 1, 1))}, "'edge_length' must have one row per cell"),
        ({"mystery": np.zeros(7)}, "'mystery' has 7 rows.*rename it to node_mystery"),
        ({"node_position": np.zeros(6)}, "'node_position' has shape"),
        ({"y": np.zeros(3)}, r"'y' has shape \(3,\)"),
        ({"y": np.array(["a", "b"])}, "'y' has shape .* type <U1"),
        ({"y": np.array([0.5, np.inf])}, r"row 1 \(counted from 0\) is inf"),
        ({"y": np.array([5, 5])}, "two classes, found 1: 5"),
        ({"y": np.zeros((2, 2)), "target_names": np.array(["a"])}, "2 different names are needed"),
        ({"kind": np.array("ordinal")}, "'kind' is 'ordinal'"),
        ({"kind": np.array("binary")}, "0.5 is no class;"),
        ({"val_idx": np.array([1])}, "'train_idx' is missing"),
        ({"train_idx": np.array([0, 2])}, "train_idx names row 2"),
        ({"train_idx": np.array([-1])}, "train_idx names row -1"),
        ({"train_idx": np.array([0, 0])}, "train_idx names a row twice"),
        ({"train_idx": np.array([0.0])}, "'train_idx' must be a list of graph numbers"),
        (
            {"train_idx": np.array([0, 1]), "test_idx": np.array([1])},
            "row 1 is in both train_idx and test_idx",
        ),
    ],
)
def test_every_inconsistency_names_file_and_array(tmp_path, changed, words):
    file = stored(tmp_path, **changed)
    with pytest.raises(ValueError, match=words) as error:
        read_npz(file)
    assert str(file) in str(error.value)


def test_an_array_that_fits_nodes_and_edges_alike_needs_a_prefix(tmp_path):
    same = {"num_nodes": np.array([3]), "num_edges": np.array([3]), "y": np.array([1.0]),
            "edge_index": np.array([[0, 1, 2], [1, 2, 0]]), "node_type": None,
            "edge_length": None}  # fmt: skip
    file = stored(tmp_path, **same, attributes=np.zeros(3))
    with pytest.raises(ValueError, match="'attributes' has 3 rows, which fits node and edges"):
        read_npz(file)
    graph = read_npz(stored(tmp_path, **same, edge_attributes=np.ones(3))).graph(0)
    assert graph.edge_features.continuous.shape == (3, 1)
    assert graph.vertex_features.continuous.shape == (3, 0)


def test_an_array_with_one_row_per_graph_and_a_remark_are_not_features(tmp_path):
    graph = read_npz(
        stored(tmp_path, fold=np.array([1, 2]), remark=np.array("made by hand"))
    ).graph(0)
    assert graph.vertex_features.discrete.shape == (3, 1)


def test_the_order_of_arrays_in_the_file_does_not_matter(tmp_path):
    more = {"node_b": np.arange(6), "node_a": np.arange(6)[::-1].copy()}
    one = read_npz(stored(tmp_path, **more))
    np.savez(tmp_path / "other.npz", **dict(reversed(arrays(**more).items())))
    other = read_npz(tmp_path / "other.npz")
    assert one.digest == other.digest
    assert one.graph(0).vertex_features.discrete[0].tolist() == [5, 0, 0]  # a, b, type


def test_the_digest_sees_every_feature_and_edge_but_no_target(tmp_path):
    base = read_npz(stored(tmp_path)).digest
    assert read_npz(stored(tmp_path, y=np.array([7.0, 8.0]))).digest == base
    edges = np.array([[0, 1, 2, 0], [1, 2, 0, 2]])
    for changed in (
        {"node_type": np.array([0, 1, 2, 3, 4, 6])},
        {"edge_length": np.array([1.0, 2.0, 3.0, 5.0])},
        {"edge_index": edges},
        {"num_nodes": np.array([4, 2])},
    ):
        assert read_npz(stored(tmp_path, **changed)).digest != base


@pytest.mark.parametrize(
    ("y", "kind", "labels", "numbers"),
    [
        ([0, 2], "binary", (0, 2), [0, 1]),
        ([2, 1], "binary", (1, 2), [1, 0]),
        ([1, 1], "binary", (0, 1), [1, 1]),
        ([True, False], "binary", (0, 1), [1, 0]),
    ],
)
def test_integer_targets_are_classes_with_their_own_labels(tmp_path, y, kind, labels, numbers):
    graphs = read_npz(stored(tmp_path, y=np.array(y)))
    assert graphs.task == Task(kind, ("y",), "rocauc", labels)
    assert graphs.targets.ravel().tolist() == numbers


def test_integer_targets_that_are_nearly_all_different_are_not_guessed_to_be_classes(tmp_path):
    graphs = [Graph.from_edges([(0, 1)])] * 12
    with pytest.raises(ValueError, match=r"'y' has 12 different values in 12 rows.*data.kind"):
        write_npz(tmp_path / "set.npz", graphs, np.arange(12))
    for kind, labels in (("regression", ()), ("multiclass", tuple(range(12)))):
        write_npz(tmp_path / "set.npz", graphs, np.arange(12), kind=kind, overwrite=True)
        assert read_npz(tmp_path / "set.npz").task.labels == labels


def test_three_classes_are_multiclass_and_a_models_task_keeps_its_numbers(tmp_path):
    graphs = [Graph.from_edges([], 1)] * 3
    write_npz(tmp_path / "a.npz", graphs, y=[7, 3, 5])
    task = read_npz(tmp_path / "a.npz").task
    assert (task.kind, task.labels, task.outputs) == ("multiclass", (3, 5, 7), 3)
    write_npz(tmp_path / "b.npz", graphs, y=[7, 7, 5])
    again = read_npz(tmp_path / "b.npz", task=task)
    assert again.targets.ravel().tolist() == [2, 2, 1]
    write_npz(tmp_path / "c.npz", graphs, y=[7, 4, 5])
    with pytest.raises(ValueError, match=r"row 1 .*has the class 4; the known classes are 3, 5, 7"):
        read_npz(tmp_path / "c.npz", task=task)
    write_npz(tmp_path / "d.npz", graphs)
    assert read_npz(tmp_path / "d.npz", task=task).task_or_none is None


def test_several_binary_targets_may_miss_values(tmp_path):
    y = np.array([[1, np.nan], [0, 1]])
    write_npz(
        tmp_path / "a.npz",
        [Graph.from_edges([], 1)] * 2,
        y,
        kind="binary",
        target_names=["toxic", "active"],
    )
    graphs = read_npz(tmp_path / "a.npz")
    assert graphs.task == Task("binary", ("toxic", "active"), "rocauc", (0, 1))
    np.testing.assert_array_equal(graphs.targets, y)
    assert read_npz(tmp_path / "a.npz", target=["active"]).targets.tolist()[1] == [1.0]
    with pytest.raises(ValueError, match="no target 'activ'; there are toxic, active"):
        read_npz(tmp_path / "a.npz", target=["activ"])


def test_a_set_without_targets_has_no_task(tmp_path):
    graphs = read_npz(stored(tmp_path, y=None))
    assert graphs.targets.shape == (2, 0)
    with pytest.raises(ValueError, match="set has no targets"):
        _ = graphs.task


def test_pickles_are_refused(tmp_path):
    file = tmp_path / "set.npz"
    np.savez(file, **arrays(), node_thing=np.array([object()], object))
    with pytest.raises(ValueError, match="'node_thing' holds Python objects"):
        read_npz(file)


def test_files_that_are_no_archives_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        read_npz(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("num_nodes")
    with pytest.raises(ValueError, match=r"text\.npz is not an \.npz file"):
        read_npz(tmp_path / "text.npz")
    whole = stored(tmp_path).read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cut\.npz is not an \.npz file"):
        read_npz(tmp_path / "cut.npz")
    with zipfile.ZipFile(tmp_path / "words.npz", "w") as archive:
        archive.writestr("num_nodes.npy", b"nothing like an array")
    with pytest.raises(ValueError, match=r"words\.npz: .*'num_nodes'"):
        read_npz(tmp_path / "words.npz")


@st.composite
def random_graphs(draw):
    discrete, continuous = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    floats = st.floats(-1e6, 1e6, width=32)
    graphs = []
    for _ in range(draw(st.integers(1, 5))):
        count = draw(st.integers(1, 6))
        ends = st.integers(0, count - 1)
        edges = draw(st.lists(st.tuples(ends, ends), max_size=8))
        bare = Graph.from_edges(np.array(edges, np.int64).reshape(-1, 2), count)
        vertices = draw(hnp.arrays(np.int64, (count, discrete), elements=st.integers(0, 9)))
        lengths = draw(hnp.arrays(np.float32, (bare.num_edges, continuous), elements=floats))
        graphs.append(Graph.from_edges(bare.edges, count, vertices, lengths))
    return graphs


@given(random_graphs())
@settings(deadline=None, max_examples=50)
def test_writing_and_reading_gives_the_same_graphs(tmp_path_factory, graphs):
    file = tmp_path_factory.mktemp("npz") / "graphs.npz"
    y = np.arange(len(graphs)) + 0.5
    write_npz(file, graphs, y, {"train": [0], "test": range(1, len(graphs))})
    read = read_npz(file)
    assert len(read) == len(graphs)
    np.testing.assert_array_equal(read.targets[:, 0], y)
    assert read.split["train"].tolist() == [0]
    assert read.split["val"].tolist() == []
    for row, graph in enumerate(graphs):
        same = read.graph(row)
        assert same.num_vertices == graph.num_vertices
        np.testing.assert_array_equal(same.edges, graph.edges)
        for one, other in (
            (same.vertex_features, graph.vertex_features),
            (same.edge_features, graph.edge_features),
        ):
            if len(other):
                np.testing.assert_array_equal(one.discrete, other.discrete)
                np.testing.assert_array_equal(one.continuous, other.continuous)
                np.testing.assert_array_equal(one.signed, other.signed)


def test_any_part_holds_the_same_graphs(tmp_path):
    graphs = read_npz(stored(tmp_path)).graphs
    part = graphs.part(1, 2)
    assert len(part) == 1
    assert part.graph(0).name == graphs.graph(1).name
    np.testing.assert_array_equal(part.graph(0).edges, graphs.graph(1).edges)
    with pytest.raises(IndexError):
        part.graph(1)


def test_positions_survive_and_are_no_feature(tmp_path):
    graph = Graph.from_edges([(0, 1)], positions=[[0.0, 1.0], [2.0, 3.0]])
    write_npz(tmp_path / "a.npz", [graph])
    read = read_npz(tmp_path / "a.npz").graph(0)
    np.testing.assert_array_equal(read.positions, graph.positions)
    assert read.vertex_features.continuous.shape == (2, 0)


def test_a_file_is_overwritten_only_when_told_to(tmp_path):
    one, two = Graph.from_edges([], 1), Graph.from_edges([], 2)
    write_npz(tmp_path / "a.npz", [one])
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_npz(tmp_path / "a.npz", [two])
    assert read_npz(tmp_path / "a.npz").graph(0).num_vertices == 1
    write_npz(tmp_path / "a.npz", [two], overwrite=True)
    assert read_npz(tmp_path / "a.npz").graph(0).num_vertices == 2
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_nothing_inconsistent_is_written(tmp_path):
    graphs = [Graph.from_edges([], 1)] * 2
    with pytest.raises(ValueError, match="'y' has shape"):
        write_npz(tmp_path / "a.npz", graphs, y=[1.0])
    with pytest.raises(ValueError, match="train_idx names row 2"):
        write_npz(tmp_path / "a.npz", graphs, split={"train": [2]})
    with pytest.raises(ValueError, match="graph 1 have"):
        write_npz(tmp_path / "a.npz", [graphs[0], Graph.from_edges([], 1, vertex_features=[1])])
    with pytest.raises(ValueError, match=r"must end in \.npz"):
        write_npz(tmp_path / "a.zip", graphs)
    assert list(tmp_path.iterdir()) == []


DATA = os.environ.get("CELLFORMER_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CELLFORMER_DATA names no folder of real data")


@needs_data
@pytest.mark.parametrize(
    ("file", "rows", "parts", "nodes", "edges", "kind", "labels"),
    [
        ("zinc/zinc12k_graphs.npz", 12000, (10000, 1000, 1000), 23.155, 24.915, "regression", ()),
        ("gcb/hard_small_flat.npz", 300, (245, 29, 26), 58.64, 112.47, "multiclass", (0, 1, 2)),
        ("molhiv/molhiv_graphs.npz", 41127, (32901, 4113, 4113), 25.510, 27.468, "binary", (0, 1)),
        ("extra/mutag_flat.npz", 188, None, 17.93, 19.79, "binary", (0, 2)),
        ("extra/proteins_flat.npz", 1113, None, 39.06, 72.82, "binary", (1, 2)),
    ],
)
def test_published_counts_of_real_sets(file, rows, parts, nodes, edges, kind, labels):
    graphs = read_npz(Path(DATA) / file)
    assert len(graphs) == rows
    assert (graphs.task.kind, graphs.task.labels) == (kind, labels)
    found = graphs.split and tuple(len(graphs.split[p]) for p in ("train", "val", "test"))
    assert found == parts
    assert graphs.graphs.vertex_offsets[-1] / rows == pytest.approx(nodes, abs=0.006)
    assert graphs.graphs.edge_offsets[-1] / rows == pytest.approx(edges, abs=0.006)
    for row in (0, rows // 2, rows - 1):
        graph = graphs.graph(row)
        assert graph.dropped_loops == graph.dropped_parallel == 0


@needs_data
def test_published_figures_of_zinc_and_molhiv_targets():
    zinc = read_npz(Path(DATA) / "zinc/zinc12k_graphs.npz")
    train, test = (zinc.targets[zinc.split[part], 0] for part in ("train", "test"))
    assert train.mean(dtype=np.float64) == pytest.approx(0.0154, abs=1e-4)
    assert train.std(dtype=np.float64) == pytest.approx(2.0108, abs=1e-4)
    assert np.abs(test - np.median(train)).mean() == pytest.approx(1.5473, abs=1e-4)
    molhiv = read_npz(Path(DATA) / "molhiv/molhiv_graphs.npz")
    positives = [int(molhiv.targets[molhiv.split[p], 0].sum()) for p in ("train", "val", "test")]
    assert positives == [1232, 81, 130]
