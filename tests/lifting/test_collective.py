"""Liftings of many graphs at once against the same one by one."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.data.flat import FlatGraphs
from cellformer.lifting.cliques import Cliques
from cellformer.lifting.cycle_basis import CycleBasis
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import (
    CollectiveLifting,
    LiftingLimitError,
    collective_form,
    limit_error,
)
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
    collective = collective_form(lifting)
    assert collective is not None
    lifted = collective.many(FlatGraphs.from_graphs(many, "many").ragged())
    assert not lifted.over_limit
    together = lifted.complexes
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
        assert len(collective_form(lifting).many(nothing).complexes) == 0


@pytest.mark.parametrize("lifting", [InducedCycles(max_cells=20), Rings(max_cells=20)], ids=repr)
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (1, 1, 1), (0, 2, 1)])
def test_graphs_over_a_limit_are_told_and_the_others_are_lifted(from_networkx, lifting, order):
    kinds = [nx.path_graph(3), nx.complete_graph(9), nx.cycle_graph(4)]
    many = [from_networkx(kinds[number]) for number in order]
    lifted = lifting.many(FlatGraphs.from_graphs(many, "many").ragged())
    over = [place for place, number in enumerate(order) if number == 1]
    assert list(lifted.over_limit) == over
    for place, reason in lifted.over_limit.items():
        with pytest.raises(LiftingLimitError) as error:
            lifting(many[place])
        assert str(error.value) == str(limit_error(many[place], reason))
    kept = [lifting(graph) for place, graph in enumerate(many) if place not in over]
    assert len(lifted.complexes) == len(kept)
    for number, cells in enumerate(kept):
        assert lifted.complexes[number].num_cells == cells.num_cells
        for rank in range(1, 3):
            difference = lifted.complexes[number].boundary(rank) != cells.boundary(rank)
            assert difference.nnz == 0


def test_a_lifting_without_a_collective_form_is_not_taken_for_one():
    for lifting in (Cliques(), OwnCells(), OwnCells(Cliques()), OwnCells(OwnCells())):
        assert collective_form(lifting) is None
        assert not isinstance(lifting, CollectiveLifting)
    assert collective_form(OwnCells(OwnCells(Rings()))) == Rings()
