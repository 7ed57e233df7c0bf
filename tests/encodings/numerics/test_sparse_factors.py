import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cellformer.encodings.numerics.sparse_factors import elimination, factorize, solve


def laplacian(seed, count, density):
    random = np.random.default_rng(seed)
    weights = np.triu(random.random((count, count)) * (random.random((count, count)) < density), 1)
    weights += weights.T
    return np.diag(weights.sum(axis=0)) - weights


def factors(matrix, shift):
    """L, D and the order, as arrays."""
    csr = sparse.csr_array(matrix)
    pattern = csr.indptr.astype(np.int64), csr.indices.astype(np.int64)  # as they are compiled for
    order, bounds, rows = elimination(*pattern)
    lower, pivots = np.empty(len(rows)), np.empty(len(matrix))
    factorize(*pattern, csr.data, shift, order, bounds, rows, lower, pivots)
    strict = sparse.csc_array((lower, rows, bounds), shape=matrix.shape).toarray()
    return np.eye(len(matrix)) + strict, pivots, order, (bounds, rows, lower)


matrices = st.builds(
    laplacian, st.integers(0, 10_000), st.sampled_from([1, 2, 7, 40, 64, 65, 130]),
    st.sampled_from([0.0, 0.02, 0.1, 0.6]),
)  # fmt: skip


@given(matrices)
@settings(deadline=None, max_examples=30)
def test_the_factors_multiply_to_the_matrix_in_the_order_of_elimination(matrix):
    lower, pivots, order, _ = factors(matrix, 0.5)
    assert sorted(order.tolist()) == list(range(len(matrix)))
    shifted = (matrix + 0.5 * np.eye(len(matrix)))[np.ix_(order, order)]
    np.testing.assert_allclose(lower * pivots @ lower.T, shifted, atol=1e-11)
    assert not np.triu(lower, 1).any()


@given(matrices)
@settings(deadline=None, max_examples=30)
def test_solutions_are_those_of_numpy(matrix):
    _, pivots, order, parts = factors(matrix, 0.5)
    right = np.random.default_rng(0).random(len(matrix))
    solution = right[order]
    solve(*parts, pivots, solution)
    expected = np.linalg.solve(matrix + 0.5 * np.eye(len(matrix)), right)
    np.testing.assert_allclose(solution, expected[order], atol=1e-10)


@given(matrices, st.floats(0.05, 0.95))
@settings(deadline=None, max_examples=30)
def test_negative_pivots_count_the_eigenvalues_below_a_shift(matrix, share):
    values = np.linalg.eigvalsh(matrix)
    between = int(share * (len(values) - 1))
    below = (values[between] + values[min(between + 1, len(values) - 1)]) / 2 + 1e-3
    if abs(values - below).min() > 1e-4:
        assert (factors(matrix, -below)[1] < 0).sum() == (values < below).sum()


def test_a_tree_is_factorized_without_fill():
    random = np.random.default_rng(0)
    matrix = np.zeros((200, 200))
    for child in range(1, 200):
        parent = random.integers(0, child)
        matrix[child, parent] = matrix[parent, child] = -1
    assert len(factors(matrix + 300 * np.eye(200), 0.0)[3][1]) == 199
