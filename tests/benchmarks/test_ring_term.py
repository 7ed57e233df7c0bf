import json
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest
from benchmarks.ring_term import RingTerm, compared, largest_ring

from cellformer.complexes.graph import Graph
from cellformer.data.interop.networkx_graph import to_networkx

KEPT = Path(__file__).parents[2] / "results" / "zinc" / "ring-term.json"


@pytest.mark.parametrize(
    ("smiles", "size"), [("CCO", 0), ("C", 0), ("C1CC1", 3), ("C1CCCCCCC1", 8), ("C1CC1C1CCCC1", 5)]
)
def test_the_largest_ring(smiles, size):
    graph = Graph.from_smiles(smiles)
    assert largest_ring(graph) == size
    assert max(map(len, nx.cycle_basis(to_networkx(graph))), default=0) == size


def test_terms_are_compared_with_what_rings_give():
    graphs = [Graph.from_smiles(text) for text in ("CC", "c1ccccc1", "C1CCCCCCC1", "C1CCCCCC1")]
    assert compared(graphs, [0.0, 0.0, 2.0, 0.0]) == RingTerm(4, 3, 3, 1)


def test_the_kept_counts_are_those_of_the_data(real_data):
    kept = json.loads(KEPT.read_text())
    table = pd.read_csv(real_data / "zinc" / "zinc12k.csv.gz")
    assert kept["all"]["molecules"] == len(table) == 12_000
    assert kept["all"]["zero"] == (table["excess_ring"] == 0).sum()
    assert kept["all"]["exact"] == sum(kept[part]["exact"] for part in ("train", "val", "test"))
