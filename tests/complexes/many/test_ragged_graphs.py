import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged_graphs import RaggedGraphs


@st.composite
def edge_lists(draw):
    """(vertices, edges) with loops and parallel edges."""
    count = draw(st.integers(1, 6))
    vertex = st.integers(0, count - 1)
    return count, draw(st.lists(st.tuples(vertex, vertex), max_size=12))


def ragged(lists):
    edges = np.array([edge for _, own in lists for edge in own], np.int64).reshape(-1, 2)
    vertex_offsets = np.cumsum([0, *(count for count, _ in lists)])
    edge_offsets = np.cumsum([0, *(len(own) for _, own in lists)])
    return RaggedGraphs.from_edges(
        vertex_offsets,
        edge_offsets,
        edges,
        Features.empty(int(vertex_offsets[-1])),
        Features.of(np.arange(len(edges)) / 2, len(edges), "edges"),
    )


@given(st.lists(edge_lists(), max_size=5))
@settings(deadline=None, max_examples=30)
def test_each_graph_is_what_it_is_alone(lists):
    together = ragged(lists)
    assert len(together) == len(lists)
    assert together.num_vertices == sum(count for count, _ in lists)
    first = 0
    for number, (count, edges) in enumerate(lists):
        features = np.arange(first, first + len(edges)) / 2
        alone = Graph.from_edges(np.array(edges, np.int64), count, edge_features=features)
        rows = slice(*together.edge_offsets[number : number + 2].tolist())
        np.testing.assert_array_equal(together.edges[rows], alone.edges)
        np.testing.assert_array_equal(
            together.edge_continuous[rows], alone.edge_features.continuous
        )
        shift = together.vertex_offsets[number]
        np.testing.assert_array_equal(together.united_edges[rows], alone.edges + shift)
        first += len(edges)


@pytest.mark.parametrize("edge", [(0, 3), (-1, 0), (3, 3)])
def test_an_edge_to_a_vertex_of_the_next_graph_is_refused(edge):
    with pytest.raises(ValueError, match=r"graph 1: the edge .* names a vertex"):
        ragged([(2, [(0, 1)]), (3, [(0, 1), edge]), (4, [])])
