import pickle

import numpy as np
import pytest
from hypothesis import given, settings

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.graph import Graph
from cellformer.lifting.cliques import Cliques
from cellformer.lifting.cycle_basis import CycleBasis
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import LiftingLimitError, lift
from cellformer.lifting.rings import Rings
from cellformer.lifting.skeleton import Skeleton, attach_cycles
from strategies import assert_same_complex, graphs

FILLING = [CycleBasis(), InducedCycles(), InducedCycles(3), Rings(), Rings(4), Cliques()]
EVERY = [Skeleton(), *FILLING, Cliques(1), Cliques(4)]

CYCLELESS = {
    "nothing": ([], 0),
    "vertex": ([], 1),
    "edgeless": ([], 5),
    "edge": ([(0, 1)], 2),
    "path": ([(0, 1), (1, 2), (2, 3)], 4),
    "star": ([(0, i) for i in range(1, 6)], 6),
    "forest with isolated vertices": ([(0, 1), (4, 2), (4, 5)], 8),
    "self-loop and edge": ([(0, 0), (0, 1)], 2),
    "parallel edges": ([(0, 1), (1, 0), (0, 1)], 2),
}


@pytest.mark.parametrize("lifting", FILLING, ids=str)
@pytest.mark.parametrize("case", CYCLELESS)
def test_rank_2_is_declared_where_there_is_nothing_to_fill(lifting, case):
    graph = Graph.from_edges(*CYCLELESS[case])
    cells = lift(graph, lifting)
    assert cells.dim == 2
    assert cells.boundary(2).shape == (graph.num_edges, 0)
    assert cells.num_cells == (graph.num_vertices, graph.num_edges, 0)


def test_self_loops_and_parallel_edges_are_counted_and_make_no_face():
    graph = Graph.from_edges([(0, 0), (0, 1), (1, 2), (2, 0), (0, 2), (2, 2)])
    assert (graph.dropped_loops, graph.dropped_parallel) == (2, 1)
    for lifting in FILLING:
        assert lift(graph, lifting).num_cells == (3, 3, 1)


@pytest.mark.parametrize("lifting", EVERY, ids=str)
@settings(deadline=None, max_examples=30)
@given(graph=graphs(max_vertices=10, features=True))
def test_what_a_lifting_makes_is_a_complex_on_the_graph(lifting, graph):
    cells = lift(graph, lifting)
    checked = CellComplex.from_boundaries(
        cells.boundaries, cells.num_vertices, cells.features, cells.positions
    )
    assert_same_complex(cells, checked)
    assert all(b.dtype == np.int8 and b.has_sorted_indices for b in cells.boundaries)
    assert all(b.has_canonical_format for b in checked.boundaries)
    ends = cells.boundary(1).toarray()
    np.testing.assert_array_equal(ends.argmin(axis=0)[: graph.num_edges], graph.edges[:, 0])
    np.testing.assert_array_equal(ends.argmax(axis=0)[: graph.num_edges], graph.edges[:, 1])
    assert cells.features[0] is graph.vertex_features
    assert cells.features[1] is graph.edge_features
    np.testing.assert_array_equal(cells.positions, graph.positions)


@pytest.mark.parametrize("lifting", FILLING, ids=str)
@settings(deadline=None, max_examples=30)
@given(graph=graphs(max_vertices=10))
def test_a_face_runs_along_its_edge_of_the_lowest_number(lifting, graph):
    faces = lift(graph, lifting).boundary(2)
    assert (faces.data[faces.indptr[:-1]] == 1).all()


@pytest.mark.parametrize("lifting", EVERY, ids=str)
def test_the_name_is_carried_over(lifting):
    assert lift(Graph.from_edges([(0, 1), (1, 2), (0, 2)], name="three"), lifting).name == "three"


@pytest.mark.parametrize("lifting", EVERY, ids=str)
def test_a_lifting_survives_pickling_and_makes_the_same_twice(lifting, from_networkx):
    import networkx as nx

    graph = from_networkx(nx.gnm_random_graph(20, 35, seed=3))
    again = pickle.loads(pickle.dumps(lifting))
    assert again == lifting
    assert_same_complex(lift(graph, lifting), lift(graph, again))


def test_a_function_of_the_users_is_a_lifting():
    def outer_face(graph):
        return attach_cycles(graph, np.arange(4), np.array([0, 4]))

    square = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    assert lift(square, outer_face).num_cells == (4, 4, 1)


def test_something_else_than_a_complex_is_refused():
    with pytest.raises(TypeError, match=r"must return a CellComplex.*returned tuple"):
        lift(Graph.from_edges([(0, 1)]), lambda graph: (graph, None))


def test_the_error_at_a_limit_is_a_value_error_that_crosses_processes():
    error = pickle.loads(pickle.dumps(LiftingLimitError("graph 'x': more than 3 cycles")))
    assert isinstance(error, ValueError)
    assert str(error) == "graph 'x': more than 3 cycles"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InducedCycles(2), "max_length must be at least 3, got 2"),
        (lambda: InducedCycles(max_cells=0), "max_cells must be at least 1, got 0"),
        (lambda: InducedCycles(max_steps=-1), "max_steps must be at least 1, got -1"),
        (lambda: Rings(1), "max_size must be at least 3, got 1"),
        (lambda: Rings(max_cells=0), "max_cells must be at least 1"),
        (lambda: Cliques(0), "max_dim must be at least 1, got 0"),
        (lambda: Cliques(max_steps=0), "max_steps must be at least 1"),
    ],
)
def test_impossible_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
