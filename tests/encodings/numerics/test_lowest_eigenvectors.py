import numpy as np
import pytest
from scipy import sparse

from cellformer.encodings.numerics import block_iteration
from cellformer.encodings.numerics import lowest_eigenvectors as spectrum
from cellformer.encodings.numerics.block_iteration import bottom_of_spectrum
from cellformer.encodings.numerics.lowest_eigenvectors import smallest_eigenvectors


def graph_laplacian(edges, count):
    matrix = np.zeros((count, count))
    for a, b in edges:
        matrix[[a, b], [a, b]] += 1
        matrix[[a, b], [b, a]] -= 1
    return matrix


def path(count):
    return graph_laplacian([(i, i + 1) for i in range(count - 1)], count)


def expander(count):
    random = np.random.default_rng(1)
    rings = [random.permutation(count) for _ in range(3)]
    return graph_laplacian([(r[i], r[(i + 1) % count]) for r in rings for i in range(count)], count)


def star(count):
    return graph_laplacian([(0, i) for i in range(1, count)], count)


def crumbs(count):
    """Paths of five vertices: a kernel of count / 5 dimensions."""
    return graph_laplacian([(i, i + 1) for i in range(count - 1) if i % 5 != 4], count)


GRAPHS = {"path": path, "expander": expander, "star": star, "crumbs": crumbs}


@pytest.fixture(params=GRAPHS)
def laplacian(request):
    return GRAPHS[request.param](300)


@pytest.mark.parametrize("trivial", [np.ones(300), None])
@pytest.mark.parametrize("bandwidth", [0, 10_000])
def test_both_filters_find_the_smallest_eigenvalues(laplacian, trivial, bandwidth, monkeypatch):
    monkeypatch.setattr(block_iteration, "_BANDWIDTH", bandwidth)
    found = smallest_eigenvectors(sparse.csr_array(laplacian), 8, trivial)
    values = np.linalg.eigvalsh(laplacian)
    np.testing.assert_allclose(found.T @ found, np.eye(8), atol=1e-8)
    scale = values[-1]
    expected = values[1:9] if trivial is not None else values[:8]
    np.testing.assert_allclose(laplacian @ found / scale, found * expected / scale, atol=2e-8)
    if trivial is not None:
        np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-7)


def test_dense_and_iterative_vectors_are_the_same_ones():
    for make in (path, expander, crumbs):
        dense = smallest_eigenvectors(make(300), 8, np.ones(300))
        iterative = smallest_eigenvectors(sparse.csr_array(make(300)), 8, np.ones(300))
        np.testing.assert_allclose(iterative, dense, atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_300_vertices_twice_give_the_same_bits(laplacian, form):
    once = smallest_eigenvectors(form(laplacian), 8, np.ones(300))
    again = smallest_eigenvectors(form(laplacian.copy()), 8, np.ones(300))
    assert once.tobytes() == again.tobytes()


def test_a_repeated_eigenvalue_is_settled_whole():
    # A star has one eigenvalue of multiplicity n - 2: any few vectors of it are settled alike.
    few = smallest_eigenvectors(star(60), 3, np.ones(60))
    many = smallest_eigenvectors(star(60), 20, np.ones(60))
    np.testing.assert_allclose(few, many[:, :3], atol=1e-10)
    assert few[1, 0] == pytest.approx(np.sqrt(1 - 1 / 59))  # the first leaf, as far as it goes


def test_rounding_does_not_turn_the_basis():
    random = np.random.default_rng(0)
    noise = random.standard_normal((60, 60)) * 1e-13
    exact = smallest_eigenvectors(star(60), 8, np.ones(60))
    noisy = smallest_eigenvectors(star(60) + noise + noise.T, 8, np.ones(60))
    np.testing.assert_allclose(exact, noisy, atol=1e-9)


@pytest.mark.parametrize("count", [40, 90])
def test_a_failing_driver_is_replaced(monkeypatch, count):
    whole = spectrum.linalg.eigh

    def failing(matrix, subset_by_index=None, **options):
        if subset_by_index is not None:
            raise spectrum.linalg.LinAlgError("did not converge")
        return whole(matrix, **options)

    def failing_numpy(matrix):
        raise np.linalg.LinAlgError("did not converge")

    expected = smallest_eigenvectors(path(count), 5, np.ones(count))
    monkeypatch.setattr(spectrum.linalg, "eigh", failing)
    monkeypatch.setattr(spectrum.np.linalg, "eigh", failing_numpy)
    found = smallest_eigenvectors(path(count), 5, np.ones(count))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_what_is_not_reached_is_returned_with_a_warning(monkeypatch):
    monkeypatch.setattr(block_iteration, "_ROUNDS", 1)
    monkeypatch.setattr(block_iteration, "_BANDWIDTH", 0)
    with pytest.warns(UserWarning, match="4 smallest eigenvectors of 300 cells"):
        values, vectors, _ = bottom_of_spectrum(sparse.csr_array(path(300)), 4, None)
    assert values.shape == (4,)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-10)


def test_more_vectors_than_there_are():
    assert smallest_eigenvectors(path(3), 8, np.ones(3)).shape == (3, 2)
    assert smallest_eigenvectors(sparse.csr_array(path(3)), 8, np.ones(3)).shape == (3, 2)
    assert smallest_eigenvectors(path(3), 8).shape == (3, 3)
    assert smallest_eigenvectors(np.zeros((0, 0)), 8, np.zeros(0)).shape == (0, 0)
    assert smallest_eigenvectors(np.zeros((1, 1)), 8, np.ones(1)).shape == (1, 0)
