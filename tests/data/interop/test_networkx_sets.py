"""Attributes of networkx's nodes and edges as targets."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import cellformer as cf
from cellformer.training.train import train
from tiny import tiny_run


def club():
    graph = nx.karate_club_graph()
    for number, node in enumerate(graph):
        if number % 3 < 2:
            graph.nodes[node]["part"] = ("train", "val")[number % 3]
    del graph.nodes[5]["club"]
    return graph


def test_an_attribute_of_nodes_is_the_target_and_another_one_the_split(tmp_path):
    opened = cf.from_networkx_list([club()], vertex_targets=["club"], split="part", name="club")
    assert (opened.task.rank, opened.task.labels) == (0, ("Mr. Hi", "Officer"))
    assert np.flatnonzero(np.isnan(opened.targets[:, 0])).tolist() == [5]
    assert {part: len(cells) for part, cells in opened.cell_split.items()} == {
        "train": 12,
        "val": 11,
        "test": 0,
    }
    train(tiny_run("club"), tmp_path / "run", data=opened)
    kept = pd.read_csv(tmp_path / "run/predictions.csv")
    assert set(kept["truth"]) <= {"Mr. Hi", "Officer"}


def test_an_attribute_of_edges_is_a_target_in_the_order_of_the_edges():
    graph = nx.MultiDiGraph([(2, 1, {"w": 0.5}), (1, 2, {"w": 9.0}), (0, 0, {"w": 7.0})])
    graph.add_edge(0, 1, w=np.float32(1.5))
    graph.add_edge(1, 3)
    opened = cf.from_networkx_list([graph, nx.path_graph(2)], edge_targets=["w"])
    assert opened.task.rank == 1
    for pair, value in (((1, 2), 0.5), ((0, 1), 1.5), ((1, 3), np.nan)):
        numbers = {node: number for number, node in enumerate(graph)}
        edge = opened.graph(0).edge_numbers(np.array([[numbers[node] for node in pair]]))[0]
        np.testing.assert_equal(opened.targets[edge, 0], np.float32(value))
    assert np.diff(opened.cell_offsets).tolist() == [3, 1]


def test_whole_graphs_are_split_by_their_numbers():
    graphs = [club(), club(), club()]
    split = {"train": [0], "val": [1], "test": [2]}
    opened = cf.from_networkx_list(graphs, vertex_targets=["club"], split=split)
    assert opened.cell_split is None
    assert opened.split["test"].tolist() == [2]
    assert cf.from_networkx_list(graphs, split=split).task_or_none is None


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="no node has the attribute 'clab'"):
        cf.from_networkx_list([club()], vertex_targets=["clab"])
    with pytest.raises(ValueError, match=r"the attribute 'club' is 'Mr\. Hi'; expected train"):
        cf.from_networkx_list([club()], vertex_targets=["club"], split="club")
    with pytest.raises(ValueError, match=r"graphs\[0\]: the attribute 'w' is \[1, 2\], neither"):
        cf.from_networkx_list([nx.Graph([(0, 1, {"w": [1, 2]})])], edge_targets=["w"])
    with pytest.raises(ValueError, match="targets of vertices or of edges, not of both"):
        cf.from_networkx_list([club()], ["club"], ["weight"])
