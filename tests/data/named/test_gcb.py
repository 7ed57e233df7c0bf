import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from cellformer.data.named.gcb import SETS, generate_gcb
from cellformer.data.readers.npz import read_npz


def statistics(graphs):
    """Per class: mean degree, pieces, share of each color, contacts between the three shapes."""
    flat = graphs.graphs
    shape_of = np.array([0, 0, 1, 1, 2])
    figures = {}
    for one in range(3):
        rows = np.flatnonzero(graphs.targets[:, 0] == one)
        pieces, colors, contacts, edges = [], np.zeros(5), np.zeros((3, 3)), 0
        for row in rows:
            graph = flat.graph(int(row))
            own = graph.vertex_features.discrete[:, 0]
            ends = graph.edges.T
            matrix = coo_array((np.ones(len(ends[0])), ends), shape=(len(own),) * 2)
            pieces.append(connected_components(matrix)[0])
            colors += np.bincount(own, minlength=5)
            np.add.at(contacts, (shape_of[own[ends[0]]], shape_of[own[ends[1]]]), 1)
            edges += len(graph.edges)
        contacts = (contacts + contacts.T) / edges
        figures[one] = (
            2 * edges / colors.sum(),
            np.mean(pieces),
            colors / colors.sum(),
            100 * contacts[[0, 0, 1], [1, 2, 2]],
        )
    return figures


@pytest.mark.parametrize("name", ["gcb-hard-small", "gcb-easy-small"])
def test_the_published_sizes_are_kept(name):
    graphs = generate_gcb(name)
    chosen = SETS[name]
    sizes = np.diff(graphs.graphs.vertex_offsets)
    assert len(graphs) == 3 * chosen.graphs_per_class
    assert np.bincount(graphs.targets[:, 0].astype(int)).tolist() == [chosen.graphs_per_class] * 3
    assert (sizes.min(), sizes.max()) == (39, 78)
    assert (sizes % 3 == 0).all()
    assert [len(graphs.split[part]) for part in ("train", "val", "test")] == [240, 30, 30]
    assert (graphs.task.kind, graphs.task.outputs) == ("multiclass", 3)


def test_edges_join_every_vertex_to_its_nearest_neighbors():
    graphs = generate_gcb("gcb-hard-small")
    for row in range(5):
        graph = graphs.graph(row)
        distances = cdist(graph.positions, graph.positions)
        np.fill_diagonal(distances, np.inf)
        nearest = np.argsort(distances, axis=1)[:, : SETS["gcb-hard-small"].neighbors]
        expected = {tuple(sorted((i, int(j)))) for i, js in enumerate(nearest) for j in js}
        assert set(map(tuple, graph.edges.tolist())) == expected


def test_a_seed_decides_every_bit_and_sets_do_not_share_graphs():
    one, same = generate_gcb("gcb-hard-small"), generate_gcb("gcb-hard-small")
    assert one.digest == same.digest
    np.testing.assert_array_equal(one.targets, same.targets)
    assert generate_gcb("gcb-hard-small", seed=1).digest != one.digest


def test_colors_alone_and_degrees_alone_say_nothing_of_the_class():
    figures = statistics(generate_gcb("gcb-hard-small"))
    degrees = [figures[one][0] for one in range(3)]
    assert max(degrees) - min(degrees) < 0.08
    for one in range(3):
        np.testing.assert_allclose(figures[one][2], figures[0][2], atol=0.002)


@pytest.mark.parametrize("name", ["hard_small", "easy_small"])
@pytest.mark.skipif(not os.environ.get("CELLFORMER_DATA"), reason="CELLFORMER_DATA is not set")
def test_statistics_are_close_to_those_of_the_published_set(name):
    published = read_npz(Path(os.environ["CELLFORMER_DATA"]) / f"gcb/{name}_flat.npz")
    theirs = statistics(published)
    ours = statistics(generate_gcb(f"gcb-{name.replace('_', '-')}"))
    for one in range(3):
        assert ours[one][0] == pytest.approx(theirs[one][0], rel=0.03)  # mean degree
        assert ours[one][1] == pytest.approx(theirs[one][1], abs=0.7)  # pieces
        np.testing.assert_allclose(ours[one][2], theirs[one][2], atol=0.003)  # colors
        np.testing.assert_allclose(ours[one][3], theirs[one][3], atol=2)  # percent of edges
