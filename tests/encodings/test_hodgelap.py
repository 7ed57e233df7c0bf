import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.matrices import hodge_laplacian
from cellformer.encodings.encode import encode
from cellformer.encodings.hodgelap import HodgeLap


def check_against_numpy(cells, size):
    for rank, rows in enumerate(encode(cells, HodgeLap(size)).encodings):
        laplacian = hodge_laplacian(cells, rank).toarray().astype(np.float64)
        count = len(laplacian)
        if rank == 0 and count:
            laplacian += np.full((count, count), 999.0)  # moves the constant vector to the top
        kept = min(size, count - 1 if rank == 0 else count)
        values, vectors = np.linalg.eigh(laplacian)
        ours = rows[:, :kept].astype(np.float64)
        assert not rows[:, kept:].any()
        np.testing.assert_allclose(ours.T @ ours, np.eye(kept), atol=1e-5)
        np.testing.assert_allclose(laplacian @ ours, ours * values[:kept], atol=2e-3)
        for end in range(1, kept + 1):
            if end == count or values[end] - values[end - 1] > 1e-4:
                theirs = vectors[:, :end] @ vectors[:, :end].T
                np.testing.assert_allclose(ours[:, :end] @ ours[:, :end].T, theirs, atol=2e-4)


def test_named_complexes_match_numpy(named):
    if named.num_vertices:
        check_against_numpy(named, 8)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_random_complexes_match_numpy(random_complex, seed):
    check_against_numpy(random_complex(seed), 8)


def test_the_papers_triangle(make):
    cells = make("hollow triangle")
    edges = encode(cells, HodgeLap(3)).encodings[1].astype(np.float64)
    laplacian = hodge_laplacian(cells, 1).toarray()
    np.testing.assert_allclose(np.diag(edges.T @ laplacian @ edges), [0, 3, 3], atol=1e-6)
    # Edges 01, 02, 12: the cycle runs against the second one.
    np.testing.assert_allclose(edges[:, 0], np.array([1, -1, 1]) / np.sqrt(3), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "rank", "betti"),
    [("hollow triangle", 1, 1), ("filled triangle", 1, 0), ("pillow", 2, 1), ("complete", 2, 10)],
)
def test_no_harmonic_vector_is_left_out_above_rank_0(make, name, rank, betti):
    cells = make(name)
    rows = encode(cells, HodgeLap(12)).encodings[rank].astype(np.float64)
    values = np.diag(rows.T @ hodge_laplacian(cells, rank).toarray() @ rows)
    assert (abs(values[: min(12, cells.num_cells[rank])]) < 1e-6).sum() == betti


def test_of_c_components_c_minus_1_constants_remain_on_rank_0(make):
    vertices = encode(make("two triangles"), HodgeLap(8)).encodings[0]
    np.testing.assert_allclose(
        vertices[:, 0], np.array([1, 1, 1, -1, -1, -1]) / np.sqrt(6), atol=1e-6
    )
