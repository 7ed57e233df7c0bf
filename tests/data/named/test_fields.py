"""Sets of flows and trajectories that make themselves."""

from dataclasses import replace

import numpy as np
import pytest

import cellformer as cf
from cellformer.complexes.homology import betti_numbers
from cellformer.complexes.polygons import edge_ends
from cellformer.data.named import fields
from cellformer.data.named.catalogue import named_set
from cellformer.data.named.drawn_fields import CLASSES, draw_trajectory
from cellformer.data.named.fields import FIELD_SETS, open_fields
from cellformer.data.named.planar import angles, random_sea


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Small sets, and an empty cache."""
    few = {name: replace(chosen, items=20) for name, chosen in FIELD_SETS.items()}
    monkeypatch.setattr(fields, "FIELD_SETS", few)
    monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("holes", [0, 1, 3])
def test_a_sea_has_the_holes_that_it_is_asked_for(holes):
    sea = random_sea(np.random.default_rng(holes), holes, 0.1)
    cells = sea.complex()
    assert betti_numbers(cells) == (1, holes, 0)
    assert cf.harmonic_flows(cells).shape[1] == holes
    again = random_sea(np.random.default_rng(holes), holes, 0.1)
    np.testing.assert_array_equal(again.points, sea.points)
    ends = edge_ends(cells)
    for place in sea.holes[:, :2]:
        around = cells.boundary(2).T @ angles(sea.points, ends, place)
        np.testing.assert_allclose(around, 0, atol=1e-12)


@pytest.mark.parametrize("name", FIELD_SETS)
def test_a_set_is_the_same_each_time_and_kept(small, name):
    first = open_fields(name)
    (kept,) = small.rglob("*.npz")
    before = kept.stat().st_mtime_ns
    again = open_fields(name)
    assert kept.stat().st_mtime_ns == before
    kept.write_bytes(kept.read_bytes()[:100])
    for other in (again, open_fields(name)):
        assert other.digest == first.digest
        np.testing.assert_array_equal(other.targets, first.targets)
    assert open_fields(name, seed=1).digest != first.digest


def test_flows_are_asked_for_where_they_are_not_measured_and_given_where_they_are(small):
    opened = open_fields("flows")
    assert (opened.task.rank, opened.task.flips) == (1, True)
    shares = []
    for row, cells in enumerate(opened.graphs.complexes):
        measured = cells.features[1].discrete[:, 0] == 1
        target = opened.targets_of(np.array([row]))[:, 0]
        np.testing.assert_array_equal(np.isnan(target), measured)
        assert not cells.features[1].signed[~measured, 0].any()
        assert 0.05 < measured.mean() < 0.5
        flow = np.where(measured, cells.features[1].signed[:, 0], target)
        assert (flow**2).mean() == pytest.approx(1, abs=0.1)
        found = cf.hodge_decomposition(cells, flow)
        shares.append([(part**2).mean() for part in (found.gradient, found.curl, found.harmonic)])
    assert (np.array(shares).std(axis=0) > 0.1).all()  # they differ from one to the next


def test_a_trajectory_goes_around_the_holes_that_its_class_says(small):
    opened = open_fields("trajectories")
    assert opened.task.labels == CLASSES
    counted = np.bincount(opened.targets[:, 0].astype(int))
    assert counted.tolist() == [5] * len(CLASSES)
    for cells, value in zip(opened.graphs.complexes, opened.targets[:, 0], strict=True):
        steps = cells.features[1].signed[:, 0].astype(float)
        np.testing.assert_allclose(cells.boundary(1) @ steps, 0)  # closed
        basis = cf.harmonic_flows(cells)
        around = np.linalg.norm(basis.T @ steps)
        assert (around < 1e-6) == (value == 0)
        assert cells.features[1].discrete[steps != 0, 0].all()


def test_senses_alone_tell_alike_from_unlike():
    """The same holes, the same edges, walked in the same or in opposite senses."""
    for seed in range(5):
        alike, unlike = (draw_trajectory(np.random.default_rng(seed), label) for label in (2, 3))
        assert CLASSES[2:] == ("around two alike", "around two unlike")
        np.testing.assert_array_equal(alike.sea.points, unlike.sea.points)
        np.testing.assert_array_equal(alike.values[:, 1], unlike.values[:, 1])
        turned = alike.values[:, 0] == -unlike.values[:, 0]
        assert (turned | (alike.values[:, 0] == unlike.values[:, 0])).mean() > 0.95  # one round
        assert (turned & (alike.values[:, 0] != 0)).sum() > 0


def test_another_task_needs_another_set(small):
    flows = cf.Task("regression", ("flow",), "rmse", rank=1, flips=True)
    assert open_fields("flows", task=flows).task.metric == "rmse"
    assert open_fields("flows", metric="rmse").task.metric == "rmse"
    assert open_fields("flows", task=replace(flows, flips=False)).task_or_none is None
    with pytest.raises(ValueError, match="flows needs no fetching"):
        named_set("flows")
    with pytest.raises(ValueError, match="target"):
        cf.open_source("flows", target="flow")
