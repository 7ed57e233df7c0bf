"""Baselines on fields on cells."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks.topology.hodge import (
    LEAST,
    complete_flows,
    completed,
    complexes_of,
    tell_trajectories,
)
from benchmarks.topology.line_graph import LineGraphTraining, line_graph, train_line_graph

import cellformer as cf
from cellformer.data.named import fields
from cellformer.data.named.fields import FIELD_SETS, open_fields


@pytest.fixture
def small(monkeypatch, tmp_path):
    few = {name: replace(chosen, items=30) for name, chosen in FIELD_SETS.items()}
    monkeypatch.setattr(fields, "FIELD_SETS", few)
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path))


def test_a_completed_flow_is_the_dense_solution_and_turns_with_the_edges(small):
    cells = complexes_of(open_fields("flows"))[0]
    known = cells.features[1].discrete[:, 0]
    measured = cells.features[1].signed[:, 0].astype(float)
    down, up = cells.boundary(1).toarray().astype(float), cells.boundary(2).toarray().astype(float)
    matrix = np.diag(known + LEAST) + 0.1 * down.T @ down + 0.3 * up @ up.T
    found = completed(cells, 0.1, 0.3)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, known * measured), atol=1e-8)
    signs = np.random.default_rng(0).choice([-1, 1], len(found))
    turned = completed(cf.flip(cells, [None, signs, None]), 0.1, 0.3)
    np.testing.assert_allclose(turned, signs * found, atol=1e-8)


def test_the_laplacian_completes_better_than_nothing(small):
    found = complete_flows(open_fields("flows"))
    assert found.error < 0.8 * found.error_of_zero


def test_harmonic_projections_tell_what_edges_do_not(small):
    harmonic, plain = tell_trajectories(open_fields("trajectories"))
    assert 0 <= plain <= harmonic <= 1


@pytest.mark.parametrize("name", FIELD_SETS)
def test_a_network_on_the_line_graph_trains(small, name):
    tiny = LineGraphTraining(width=8, layers=1, epochs=1)
    assert 0 <= train_line_graph(open_fields(name), tiny) < 2


def test_two_edges_meet_alike_where_their_flows_would_add_up(small):
    cells = complexes_of(open_fields("flows"))[0]
    data = line_graph(cells, np.zeros(cells.num_cells[1]))
    down = cells.boundary(1).toarray().astype(int)
    expected = (down.T @ down)[tuple(data.edge_index.numpy())]
    assert data.edge_attr[:, 0].int().tolist() == expected.tolist()
    assert torch.equal(data.edge_attr.abs(), torch.ones_like(data.edge_attr))
