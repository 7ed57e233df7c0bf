from dataclasses import replace

import numpy as np

from cellformer.complexes.features import Features
from cellformer.complexes.graph import Graph
from cellformer.complexes.hodge import harmonic_flows
from cellformer.complexes.relabel import flip
from cellformer.lifting.cliques import Cliques
from cellformer.lifting.hodge_parts import HodgeParts
from cellformer.lifting.own_cells import own_cells_or_cycles
from cellformer.lifting.simplices import simplicial_complex


def band():
    """Twelve triangles around a hole, with two flows along the edges and one through the faces."""
    inner = np.arange(6)
    after = np.roll(inner, -1)
    rows = np.vstack([np.c_[inner, after, inner + 6], np.c_[after, inner + 6, after + 6]])
    cells = simplicial_complex(np.sort(rows, axis=1))
    rng = np.random.default_rng(0)
    features = [
        Features.empty(n).with_signed(rng.normal(size=(n, columns)))
        for n, columns in zip(cells.num_cells, (0, 2, 1), strict=True)
    ]
    return replace(cells, features=tuple(features))


def with_parts(cells):
    return HodgeParts(own_cells_or_cycles())(Graph.of_complex(cells))


def test_features_that_flip_are_followed_by_their_parts():
    cells = band()
    before, (vertices, edges, faces) = cells.features, with_parts(cells).features
    assert vertices.signed.shape == (12, 0)
    own, gradient, curl, harmonic = np.split(edges.signed.astype(float), 4, axis=1)
    assert (own == before[1].signed).all()
    np.testing.assert_allclose(gradient + curl + harmonic, own, atol=1e-6)
    down, up = (cells.boundary(rank).astype(float) for rank in (1, 2))
    np.testing.assert_allclose(down @ (curl + harmonic), 0, atol=1e-5)
    np.testing.assert_allclose(up.T @ (gradient + harmonic), 0, atol=1e-5)
    around = harmonic_flows(cells)
    np.testing.assert_allclose(harmonic, around @ (around.T @ own), atol=1e-6)
    assert np.linalg.norm(harmonic, axis=0).min() > 0.05
    own, gradient, curl, harmonic = faces.signed.T
    np.testing.assert_allclose(gradient, own, atol=1e-6)  # a band holds no water
    assert abs(curl).max() == 0
    assert abs(harmonic).max() < 1e-6


def test_they_turn_with_the_cells():
    cells = band()
    rng = np.random.default_rng(1)
    signs = [np.ones(12, np.int8), *(rng.choice(np.array([-1, 1], np.int8), n)
                                     for n in cells.num_cells[1:])]  # fmt: skip
    turned, plain = with_parts(flip(cells, signs)), with_parts(cells)
    for rank in (1, 2):
        expected = plain.features[rank].signed * signs[rank][:, None]
        np.testing.assert_allclose(turned.features[rank].signed, expected, atol=1e-6)


def test_graphs_have_the_parts_of_the_complex_that_they_become():
    flow = Features.empty(3).with_signed([1.0, 1.0, -1.0])
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2)], edge_features=flow)
    hollow = HodgeParts(Cliques(max_dim=1))(graph).features[1].signed
    filled = HodgeParts(Cliques(max_dim=2))(graph).features[1].signed
    np.testing.assert_allclose(hollow[:, [1, 2, 3]], [[0, 0, 1], [0, 0, 1], [0, 0, -1]], atol=1e-6)
    np.testing.assert_allclose(filled[:, [1, 2, 3]], [[0, 1, 0], [0, 1, 0], [0, -1, 0]], atol=1e-6)
