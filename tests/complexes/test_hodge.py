import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import cellformer.complexes.hodge as hodge
from cellformer.complexes import examples
from cellformer.complexes.hodge import harmonic_flows, hodge_decomposition
from cellformer.complexes.homology import betti_numbers
from cellformer.complexes.relabel import flip, permute
from strategies import NAMED, cochains, orders, orientations

PARTS = ("gradient", "curl", "harmonic")


def dense_parts(cells, flow, rank):
    """By the pseudo-inverses of the boundary matrices."""
    down = cells.boundary(rank).toarray().astype(float).T
    up = cells.boundary(rank + 1).toarray().astype(float)
    gradient = down @ np.linalg.pinv(down) @ flow if down.size else np.zeros_like(flow)
    curl = up @ np.linalg.pinv(up) @ flow if up.size else np.zeros_like(flow)
    return gradient, curl, flow - gradient - curl


@given(cochains())
@settings(deadline=None, max_examples=60)
def test_parts_are_those_of_the_pseudo_inverse(drawn):
    cells, rank, flow = drawn
    found = hodge_decomposition(cells, flow, rank)
    for name, expected in zip(PARTS, dense_parts(cells, flow, rank), strict=True):
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-9, err_msg=name)


@given(cochains())
@settings(deadline=None, max_examples=40)
def test_parts_are_orthogonal_sum_to_the_flow_and_are_what_they_are_called(drawn):
    cells, rank, flow = drawn
    found = hodge_decomposition(cells, flow, rank)
    gradient, curl, harmonic = (getattr(found, name) for name in PARTS)
    np.testing.assert_allclose(gradient + curl + harmonic, flow, atol=1e-12)
    products = (gradient @ curl, gradient @ harmonic, curl @ harmonic)
    np.testing.assert_allclose(products, 0, atol=1e-9)
    down, up = cells.boundary(rank).astype(float), cells.boundary(rank + 1).astype(float)
    np.testing.assert_allclose(down.T @ found.potentials, gradient, atol=1e-9)
    np.testing.assert_allclose(up @ found.fluxes, curl, atol=1e-9)
    np.testing.assert_allclose(down @ harmonic, 0, atol=1e-9)
    np.testing.assert_allclose(up.T @ harmonic, 0, atol=1e-9)


@given(cochains(), st.data())
@settings(deadline=None, max_examples=40)
def test_parts_turn_and_move_with_the_cells(drawn, data):
    cells, rank, flow = drawn
    signs = data.draw(orientations(cells))
    order = data.draw(orders(cells))
    own = np.ones(len(flow)) if signs[rank] is None else signs[rank]
    moved = permute(flip(cells, signs), order)
    found = hodge_decomposition(moved, (own * flow)[order[rank]], rank)
    for name in PARTS:
        expected = own * getattr(hodge_decomposition(cells, flow, rank), name)
        np.testing.assert_allclose(getattr(found, name), expected[order[rank]], atol=1e-9)


@pytest.mark.parametrize("name", NAMED)
def test_as_many_harmonic_flows_as_holes(name):
    cells = NAMED[name]()
    for rank, holes in enumerate(betti_numbers(cells)):
        basis = harmonic_flows(cells, rank)
        assert basis.shape == (cells.num_cells[rank], holes)
        np.testing.assert_allclose(basis.T @ basis, np.eye(holes), atol=1e-9)
        np.testing.assert_allclose(
            hodge_decomposition(cells, basis, rank).harmonic, basis, atol=1e-9
        )


@pytest.mark.parametrize("factored", [0, 10**9])
def test_iterating_and_factoring_agree_and_slow_iterations_are_factored(monkeypatch, factored):
    monkeypatch.setattr(hodge, "FACTORED", factored)
    monkeypatch.setattr(hodge, "STEPS", 40)
    rng = np.random.default_rng(0)
    for cells in (examples.torus_grid(4, 5), examples.path(300)):  # the second takes more steps
        flow = rng.normal(size=(cells.num_cells[1], 2))
        found = hodge_decomposition(cells, flow)
        for column in (0, 1):
            expected = dense_parts(cells, flow[:, column], 1)
            for name, part in zip(PARTS, expected, strict=True):
                np.testing.assert_allclose(getattr(found, name)[:, column], part, atol=1e-8)


def test_a_long_chain_is_decomposed_exactly():
    """Its lowest eigenvalue is 1e-8 of its highest; every flow on a tree is a gradient."""
    cells = examples.path(20_000)
    flow = np.random.default_rng(0).normal(size=cells.num_cells[1])
    found = hodge_decomposition(cells, flow)
    np.testing.assert_allclose(found.gradient, flow, atol=1e-8)


def test_flows_that_do_not_fit_are_refused():
    house = examples.house()
    with pytest.raises(ValueError, match="each of the 6 cells of rank 1, got shape"):
        hodge_decomposition(house, np.zeros(5))
    with pytest.raises(ValueError, match="has ranks 0 to 2, not 3"):
        hodge_decomposition(house, np.zeros(0), 3)
    with pytest.raises(ValueError, match="the flow of cell 2 is not finite"):
        hodge_decomposition(house, [0, 1, np.nan, 0, 0, 0])


def test_the_matrices_are_left_alone():
    house = examples.house()
    before = [sparse.csc_array(boundary, copy=True) for boundary in house.boundaries]
    hodge_decomposition(house, np.arange(6.0))
    for one, other in zip(before, house.boundaries, strict=True):
        assert (one != other).nnz == 0
        assert other.dtype == np.int8
