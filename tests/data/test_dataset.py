import pickle
from dataclasses import replace

import numpy as np
import pytest

from cellformer.complexes.graph import Graph
from cellformer.data.dataset import (
    GraphSequence,
    SmilesList,
    Task,
    check_split,
    digest_of,
)
from cellformer.data.flat import FlatGraphs, in_memory


@pytest.mark.parametrize(
    ("kind", "targets", "metric", "labels", "words"),
    [
        ("regression", (), "mae", (), "at least one target"),
        ("regression", ("y",), "accuracy", (), "metric of a regression"),
        ("regression", ("y",), "mae", (0, 1), "no class labels"),
        ("binary", ("y",), "rocauc", (0, 1, 2), "two labels"),
        ("binary", ("y",), "mae", (0, 1), "metric of a binary"),
        ("multiclass", ("y", "z"), "accuracy", (0, 1, 2), "one target"),
        ("multiclass", ("y",), "accuracy", (0,), "at least two labels"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(kind, targets, metric, labels, words):
    with pytest.raises(ValueError, match=words):
        Task(kind, targets, metric, labels)


def test_outputs_are_targets_or_classes():
    assert Task("regression", ("a", "b"), "rmse").outputs == 2
    assert Task("binary", ("a", "b", "c"), "rocauc", (0, 1)).outputs == 3
    assert Task("multiclass", ("a",), "accuracy", ("x", "y", "z")).outputs == 3


def test_a_split_needs_all_three_parts():
    with pytest.raises(ValueError, match="has the parts"):
        check_split({"train": np.arange(3)}, 3, "here")


def test_a_digest_sees_borders_types_and_shapes():
    parts = [
        ["ab", "c"],
        ["a", "bc"],
        ["abc"],
        [np.arange(4)],
        [np.arange(4).reshape(2, 2)],
        [np.arange(4, dtype=np.int32)],
        [np.arange(2), np.arange(2)],
    ]
    assert len({digest_of(one) for one in parts}) == len(parts)


def test_sets_survive_pickling_and_sequences_have_the_protocol():
    graphs = in_memory([Graph.from_edges([(0, 1)]), Graph.from_edges([], 3)], split={"train": [1]})
    again = pickle.loads(pickle.dumps(graphs))
    assert again.graph(1).num_vertices == 3
    assert again.split["train"].tolist() == [1]
    for sequence in (graphs.graphs, SmilesList(("C", "CC"))):
        assert isinstance(sequence, GraphSequence)
        assert len(sequence.part(1, 2)) == 1


def test_targets_must_fit_the_graphs_and_the_task():
    graphs = [Graph.from_edges([], 1)] * 2
    task = Task("regression", ("y",), "mae")
    with pytest.raises(ValueError, match=r"targets have shape \(3, 1\), expected \(2, 1\)"):
        in_memory(graphs, [1.0, 2.0, 3.0], task)
    with pytest.raises(ValueError, match="belong together"):
        in_memory(graphs, [1.0, 2.0])


def test_graphs_with_and_without_positions_do_not_mix():
    placed = Graph.from_edges([(0, 1)], positions=[[0.0, 0.0], [1.0, 1.0]])
    solid = Graph.from_edges([(0, 1)], positions=[[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    with pytest.raises(ValueError, match="some have none"):
        FlatGraphs.from_graphs([placed, Graph.from_edges([(0, 1)])], "mixed")
    with pytest.raises(ValueError, match=r"\[2, 3\] coordinates"):
        FlatGraphs.from_graphs([placed, solid], "mixed")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank": None}, "are values of cells of a rank"),
        ({"kind": "binary", "metric": "rocauc", "labels": (0, 1)}, "are values of cells of a rank"),
        ({"metric": "r2"}, "depends on how cells are oriented"),
    ],
)
def test_only_values_of_cells_flip(changes, message):
    task = Task("regression", ("flow",), "mae", rank=1, flips=True)
    with pytest.raises(ValueError, match=message):
        replace(task, **changes)
