import networkx as nx
import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.batches.components import Components


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 8).flatmap(
        lambda senders: st.tuples(
            st.just(senders),
            st.lists(
                st.sets(st.integers(0, senders - 1)) if senders else st.just(set()), max_size=8
            ),
        )
    )
)
def test_components_are_those_of_the_graph_of_receivers_and_senders(case):
    num_senders, rows = case
    offsets = torch.tensor(np.cumsum([0, *map(len, rows)]))
    senders = torch.tensor([s for row in rows for s in sorted(row)], dtype=torch.long)
    components = Components.of(num_senders, offsets, senders)

    graph = nx.Graph()
    graph.add_nodes_from(("receiver", r) for r in range(len(rows)))
    graph.add_nodes_from(("sender", s) for s in range(num_senders))
    graph.add_edges_from(
        (("receiver", r), ("sender", s)) for r, row in enumerate(rows) for s in row
    )
    found = set()
    before = 0
    for number in range(len(components.pairs) - 1):
        assert int(components.pairs[number]) == before
        members = set()
        for role, of in (("receiver", components.receivers), ("sender", components.senders)):
            cells = of.order[of.offsets[number] : of.offsets[number + 1]].tolist()
            members |= {(role, cell) for cell in cells}
            if role == "receiver":
                for cell in cells:
                    assert int(components.before[cell]) == before
                    before += len(rows[cell])
        found.add(frozenset(members))
    assert before == int(components.pairs[-1]) == len(senders)
    assert found == set(map(frozenset, nx.connected_components(graph)))
