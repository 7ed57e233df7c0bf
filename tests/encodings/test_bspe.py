import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.encodings.barycentric import looped_skeleton
from cellformer.encodings.bspe import BSPe, normalized
from cellformer.encodings.encode import encode
from cellformer.encodings.numerics.lowest_eigenvectors import smallest_eigenvectors


def check_against_networkx(cells, adjacency, size):
    """Eigenvalues, orthonormality and eigenspaces, from networkx's Laplacian and numpy."""
    graph = nx.from_numpy_array(adjacency)
    laplacian = nx.normalized_laplacian_matrix(graph).toarray()
    degrees = adjacency.sum(axis=0)
    trivial = np.sqrt(np.where(degrees == 0, 1, degrees))
    trivial /= np.linalg.norm(trivial)
    assert np.allclose(laplacian @ trivial, 0)

    ours = np.vstack(encode(cells, BSPe(size)).encodings).astype(np.float64)
    kept = min(size, len(adjacency) - 1)
    assert not ours[:, kept:].any()
    ours = ours[:, :kept]
    np.testing.assert_allclose(ours.T @ ours, np.eye(kept), atol=1e-5)
    np.testing.assert_allclose(trivial @ ours, 0, atol=1e-6)
    values, vectors = np.linalg.eigh(laplacian + 9 * np.outer(trivial, trivial))
    np.testing.assert_allclose(laplacian @ ours, ours * values[:kept], atol=1e-5)
    for end in range(1, kept + 1):
        if values[end] - values[end - 1] > 1e-4:
            theirs = vectors[:, :end] @ vectors[:, :end].T
            np.testing.assert_allclose(ours[:, :end] @ ours[:, :end].T, theirs, atol=2e-4)


def test_named_complexes_match_networkx(named, closure_matrix):
    if named.num_vertices:
        check_against_networkx(named, closure_matrix(named), 8)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_random_complexes_match_networkx(random_complex, closure_matrix, seed):
    cells = random_complex(seed)
    check_against_networkx(cells, closure_matrix(cells), 8)


@pytest.mark.parametrize("name", ["two triangles", "triangle, edge and vertex", "edgeless"])
def test_of_c_components_c_minus_1_null_vectors_remain(make, closure_matrix, name):
    cells = make(name)
    adjacency = closure_matrix(cells)
    components = nx.number_connected_components(nx.from_numpy_array(adjacency))
    ours = np.vstack(encode(cells, BSPe(8)).encodings)
    root = np.sqrt(np.maximum(adjacency.sum(axis=0), 1))
    labels = np.zeros(len(root), int)
    for number, members in enumerate(nx.connected_components(nx.from_numpy_array(adjacency))):
        labels[list(members)] = number
    scaled = ours[:, : components - 1] / root[:, None]  # constant on each component
    for number in range(components):
        np.testing.assert_allclose(np.ptp(scaled[labels == number], axis=0), 0, atol=1e-6)


def test_two_triangles_are_told_apart_by_the_first_vector(make):
    first = np.concatenate(
        [rows[:, 0] for rows in encode(make("two triangles"), BSPe(8)).encodings]
    )
    left = np.array([1, 1, 1, 0, 0, 0] * 2 + [1, 0], bool)
    assert (first[left] > 0).all()
    assert (first[~left] < 0).all()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_vectors_than_columns_are_padded_with_zeros(make, count):
    name = {1: "vertex", 2: "two vertices", 3: "three vertices"}[count]
    cells = make(name)
    rows = np.vstack(encode(cells, BSPe(8)).encodings)
    assert np.linalg.matrix_rank(rows) == sum(cells.num_cells) - 1
    assert not rows[:, sum(cells.num_cells) - 1 :].any()


@pytest.mark.parametrize(
    "name", ["tetrahedra", "two triangles", "triangle, edge and vertex", "edgeless"]
)
def test_the_iterative_solver_gives_the_same_vectors(make, name):
    cells = make(name)
    skeleton = looped_skeleton(cells)
    root = np.sqrt(skeleton.sum(axis=0))
    dense = smallest_eigenvectors(normalized(skeleton).toarray(), 6, root)
    iterative = smallest_eigenvectors(normalized(skeleton), 6, root)
    assert iterative.shape == dense.shape
    if name == "tetrahedra":
        np.testing.assert_allclose(abs(iterative), abs(dense), atol=1e-6)
    laplacian = normalized(skeleton).toarray()
    np.testing.assert_allclose(
        np.diag(iterative.T @ laplacian @ iterative),
        np.diag(dense.T @ laplacian @ dense),
        atol=1e-9,
    )
    np.testing.assert_allclose(iterative.T @ iterative, np.eye(dense.shape[1]), atol=1e-9)
