"""Liftings of many graphs at once against the same one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.data.flat import FlatGraphs
from cellformer.lifting.cliques import Cliques
from cellformer.lifting.cycle_basis import CycleBasis
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import CollectiveLifting, LiftingLimitError
from cellformer.lifting.own_cells import OwnCells
from cellformer.lifting.rings import Rings
from cellformer.lifting.skeleton import Skeleton
from strategies import graphs

LIFTINGS = [
    Skeleton(),
    CycleBasis(),
    InducedCycles(),
    InducedCycles(max_length=3),
    InducedCycles(max_cells=2, over_limit="truncate"),
    Rings(),
    Rings(max_size=4),
    OwnCells(InducedCycles()),
]


@pytest.mark.parametrize("lifting", LIFTINGS, ids=repr)
@given(many=st.lists(graphs(max_vertices=7), min_size=1, max_size=4))
@settings(deadline=None, max_examples=20)
def test_complexes_are_those_of_each_graph_alone(lifting, many):
    assert isinstance(lifting, CollectiveLifting)
    together = lifting.many(FlatGraphs.from_graphs(many, "many").ragged())
    alone = RaggedComplexes.from_complexes([lifting(graph) for graph in many])
    assert len(together.ranks) == len(alone.ranks)
    for one, other in zip(together.ranks, alone.ranks, strict=True):
        for name in RaggedRank.ARRAYS:
            found, expected = getattr(one, name), getattr(other, name)
            assert found.dtype == expected.dtype
            if found.size or expected.size:
                np.testing.assert_array_equal(found, expected, err_msg=name)


def test_no_graphs_give_no_complexes():
    nothing = FlatGraphs.from_graphs([], "none").ragged()
    for lifting in LIFTINGS:
        assert len(lifting.many(nothing)) == 0


def test_the_first_graph_over_a_limit_is_named(from_networkx):
    import networkx as nx

    many = [from_networkx(nx.path_graph(3)), from_networkx(nx.complete_graph(9))]
    with pytest.raises(LiftingLimitError, match="graph 1: more than 20 cycles"):
        InducedCycles(max_cells=20).many(FlatGraphs.from_graphs(many, "many").ragged())


def test_a_lifting_without_a_collective_form_is_not_taken_for_one():
    assert not isinstance(Cliques(), CollectiveLifting)
    nothing = FlatGraphs.from_graphs([], "none").ragged()
    for other in (None, Cliques()):
        with pytest.raises(TypeError, match="does not take many graphs"):
            OwnCells(other).many(nothing)
