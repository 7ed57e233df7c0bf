import numpy as np
import pandas as pd
import pytest

from cellformer.complexes.graph import Graph
from cellformer.data.dataset import SmilesList, Task
from cellformer.data.flat import in_memory
from cellformer.data.join import JoinedGraphs, join
from cellformer.data.tables.molecules import molecules
from cellformer.data.tables.table import Table

TASK = Task("regression", ("y",), "mae")


def some(*sizes):
    return in_memory(
        [Graph.from_edges([], size) for size in sizes],
        targets=np.array(sizes, np.float32)[:, None],
        task=TASK,
    )


def sizes(graphs):
    return [graphs.graph(row).num_vertices for row in range(len(graphs))]


def test_graphs_follow_one_another_also_in_parts():
    joined = join([some(1, 2, 3), some(4), some(5, 6)])
    assert sizes(joined) == [1, 2, 3, 4, 5, 6]
    assert joined.targets[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert isinstance(joined.graphs, JoinedGraphs)
    for start in range(7):
        for stop in range(start, 7):
            assert sizes(joined.graphs.part(start, stop)) == list(range(start + 1, stop + 1))


def test_molecules_stay_molecules():
    one, two = (
        molecules(Table.of_frame(pd.DataFrame({"smiles": texts, "y": [1.5] * len(texts)})), ["y"])
        for texts in (["C", "bad"], ["O"])
    )
    joined = join([one, two])
    assert isinstance(joined.graphs, SmilesList)
    assert joined.smiles == ("C", "bad", "O")
    assert joined.digest == SmilesList(("C", "bad", "O")).digest()
    with pytest.raises(ValueError, match="bad"):
        joined.graph(1)


def test_the_digest_sees_order():
    assert join([some(1), some(2)]).digest != join([some(2), some(1)]).digest
