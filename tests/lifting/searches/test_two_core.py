import networkx as nx
import numpy as np
from hypothesis import given, settings

from cellformer.lifting.searches.two_core import two_core
from strategies import graphs


@settings(deadline=None, max_examples=30)
@given(graph=graphs(max_vertices=12))
def test_what_is_left_is_the_2_core(graph, to_networkx):
    starts, neighbors = two_core(graph.num_vertices, graph.edges)
    core = nx.k_core(to_networkx(graph), 2)
    for v in range(graph.num_vertices):
        expected = sorted(core[v]) if v in core else []
        assert neighbors[starts[v] : starts[v + 1]].tolist() == expected


def test_without_vertices_there_is_nothing():
    starts, neighbors = two_core(0, np.zeros((0, 2), np.int64))
    assert starts.tolist() == [0]
    assert not len(neighbors)
