"""A complex in patches: every cell belongs to one, and sees there what it saw."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.matrices import barycentric_skeleton
from cellformer.complexes.patches import Patches
from cellformer.lifting.mesh import mesh_complex
from strategies import complexes


def numbered(cells, chosen):
    """The places of some cells of each rank among all cells, rank after rank."""
    starts = np.concatenate([[0], np.cumsum(cells.num_cells)])
    return {int(start + one) for start, own in zip(starts, chosen, strict=False) for one in own}


def strip(length, height):
    """Squares side by side, on a cylinder: `length` around, `height` along."""
    around, along = np.meshgrid(np.arange(length), np.arange(height), indexing="ij")
    corner = (around * (height + 1) + along).ravel()
    right = ((around + 1) % length * (height + 1) + along).ravel()

    squares = np.stack([corner, right, right + 1, corner + 1], axis=1)
    return mesh_complex(np.zeros((length * (height + 1), 3)), squares.tolist())


@settings(max_examples=40)
@given(complexes(max_vertices=12), st.integers(1, 12), st.integers(0, 4))
def test_patches_hold_their_cells_and_all_that_is_near(cells, size, halo):
    found = Patches(size, halo)(cells)
    graph = nx.from_scipy_sparse_array(barycentric_skeleton(cells))
    for rank, count in enumerate(cells.num_cells):
        owned = np.concatenate([patch.chosen[rank][patch.own[rank]] for patch in found])
        assert sorted(owned) == list(range(count))
    faces = {
        high: {low for low in graph[high] if low < high and _rank(cells, low) < _rank(cells, high)}
        for high in graph
    }
    for patch in found:
        own = numbered(cells, [c[o] for c, o in zip(patch.chosen, patch.own, strict=True)])
        assert own
        near = set(nx.multi_source_dijkstra_path_length(graph, own, cutoff=halo))
        if len(found) > 1:
            closed = near.union(*(faces[one] for one in near))
            assert numbered(cells, patch.chosen) == closed


def _rank(cells, place):
    return int(np.searchsorted(np.cumsum(cells.num_cells), place, side="right"))


@settings(max_examples=30)
@given(complexes(max_vertices=12, features=True), st.integers(1, 12))
def test_a_patch_is_a_complex_whose_boundaries_are_those_of_the_whole(cells, size):
    for patch in Patches(size, 1)(cells):
        part = patch.of(cells)
        CellComplex.from_boundaries(part.boundaries, part.num_vertices)  # checks that it closes
        for rank in range(1, cells.dim + 1):
            whole = cells.boundary(rank).toarray()[:, patch.chosen[rank]]
            rows = np.zeros_like(whole)
            rows[patch.chosen[rank - 1]] = part.boundary(rank).toarray()
            np.testing.assert_array_equal(rows, whole)
        for rank, chosen in enumerate(patch.chosen):
            np.testing.assert_array_equal(
                part.features[rank].continuous, cells.features[rank].continuous[chosen]
            )


def test_patches_are_of_like_size_and_compact():
    cells = strip(60, 60)  # 14,520 cells
    found = Patches(1_000, 4)(cells)
    sizes = [sum(int(own.sum()) for own in patch.own) for patch in found]
    with_halo = sum(len(chosen) for patch in found for chosen in patch.chosen)
    assert 15 <= len(found) <= 20
    assert min(sizes) > 400
    assert max(sizes) < 2_000
    assert with_halo < 1.8 * sum(cells.num_cells)  # rows of squares around it: 2.2


def test_the_same_complex_has_the_same_patches():
    first, second = (Patches(100, 2)(strip(12, 12)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        for a, b in zip(one.chosen, other.chosen, strict=True):
            np.testing.assert_array_equal(a, b)


def test_small_components_share_patches():
    edges = CellComplex.from_boundaries([np.kron(np.eye(50), [[-1], [1]])])
    found = Patches(30, 3)(edges)
    assert [len(patch.chosen[0]) for patch in found] == [18, 20, 20, 20, 20, 2]


def test_a_small_complex_is_one_patch():
    cells = strip(3, 3)
    (patch,) = Patches(1_000, 2)(cells)
    assert [len(chosen) for chosen in patch.chosen] == list(cells.num_cells)
    assert all(own.all() for own in patch.own)


@pytest.mark.parametrize(("cells", "halo"), [(0, 1), (10, -1)])
def test_sizes_are_checked(cells, halo):
    with pytest.raises(ValueError, match="must be at least"):
        Patches(cells, halo)
