import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.matrices import (
    down_adjacency,
    down_laplacian,
    hodge_laplacian,
    up_adjacency,
    up_laplacian,
)
from cellformer.encodings import slepians
from cellformer.encodings.encode import encode
from cellformer.encodings.slepians import (
    Slepians,
    SlepiansTooLargeError,
    band_bases,
    slepians_of,
)


def band_projector(laplacian):
    """``B_F`` of the non-zero eigenvalues, by a dense eigendecomposition."""
    values, vectors = np.linalg.eigh(laplacian.toarray().astype(np.float64))
    kept = vectors[:, values > 1e-8]
    return kept @ kept.T


def literal_order(cells, rank):
    """(concentration, B_F, C_S) of every Slepian of a rank, in the documented order."""
    found = []
    for cell in range(cells.num_cells[rank]):
        for direction, (adjacency, laplacian) in enumerate(
            [(up_adjacency, up_laplacian), (down_adjacency, down_laplacian)]
        ):
            inside = adjacency(cells, rank).toarray()[cell] > 0
            inside[cell] = True
            projector = band_projector(laplacian(cells, rank))
            limiter = np.diag(inside.astype(float))
            values = np.linalg.eigvalsh(projector @ limiter @ projector)[::-1]
            for number, value in enumerate(values[values > 1e-9]):
                key = (-round(value, 9), cell, direction, number)
                found.append((key, value, projector, limiter))
    return sorted(found, key=lambda item: item[0])


def check_against_literal(cells, size):
    for rank, rows in enumerate(encode(cells, Slepians(size)).encodings):
        columns = rows.T.astype(np.float64)
        expected = literal_order(cells, rank)[:size]
        for column, (_, value, projector, limiter) in zip(columns, expected, strict=False):
            assert 0 < value < 1 + 1e-9
            np.testing.assert_allclose(np.linalg.norm(column), 1, atol=1e-6)
            np.testing.assert_allclose(projector @ column, column, atol=1e-6)
            np.testing.assert_allclose(column @ limiter @ column, value, atol=1e-6)
            np.testing.assert_allclose(
                projector @ limiter @ projector @ column, value * column, atol=1e-6
            )
        rest = columns[len(expected) :]
        laplacian = hodge_laplacian(cells, rank).toarray()
        kernel = len(laplacian) - np.linalg.matrix_rank(laplacian)
        harmonic = min(kernel, size - len(expected))
        np.testing.assert_allclose(laplacian @ rest.T, 0, atol=1e-5)
        np.testing.assert_allclose(rest[:harmonic] @ rest[:harmonic].T, np.eye(harmonic), atol=1e-6)
        assert not rest[harmonic:].any()


def test_named_complexes_match_the_definition(named):
    if max(named.num_cells) < 50:
        check_against_literal(named, 8)
        check_against_literal(named, 40)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=25)
def test_random_complexes_match_the_definition(random_complex, seed):
    check_against_literal(random_complex(seed), 8)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=25)
def test_one_set_against_the_dense_operator(random_complex, seed):
    cells = random_complex(seed)
    random = np.random.default_rng(seed)
    band = band_bases(cells.boundary(1).toarray().astype(float))[0]
    projector = band @ band.T
    count = cells.num_vertices
    chosen = np.sort(random.choice(count, int(random.integers(1, count)), replace=False))
    concentrations, vectors = slepians_of(projector, chosen)

    limiter = np.zeros((count, count))
    limiter[chosen, chosen] = 1
    optimal = np.linalg.eigvalsh(projector @ limiter @ projector)[::-1]
    rank = int((optimal > 1e-9).sum())
    np.testing.assert_allclose(concentrations, optimal[:rank], atol=1e-10)
    assert (concentrations > 0).all()
    assert (concentrations <= 1).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-9)
    np.testing.assert_allclose(projector @ vectors, vectors, atol=1e-10)
    np.testing.assert_allclose((vectors[chosen] ** 2).sum(axis=0), concentrations, atol=1e-9)


def test_bands_are_those_of_the_two_laplacians(named):
    for rank in range(1, named.dim + 1):
        upper, lower = band_bases(named.boundary(rank).toarray().astype(float))
        np.testing.assert_allclose(
            upper @ upper.T, band_projector(up_laplacian(named, rank - 1)), atol=1e-10
        )
        np.testing.assert_allclose(
            lower @ lower.T, band_projector(down_laplacian(named, rank)), atol=1e-10
        )


def test_without_bands_the_harmonic_vectors_are_all(make):
    vertices = encode(make("edgeless"), Slepians(8)).encodings[0]
    np.testing.assert_array_equal(vertices, np.eye(5, 8))


def test_the_harmonic_vector_follows_the_slepians(make):
    edges = encode(make("hollow triangle"), Slepians(8)).encodings[1].astype(np.float64)
    # Every edge's lower set is the whole triangle: two Slepians of concentration 1 each.
    np.testing.assert_allclose(edges[:, :2], edges[:, 2:4], atol=1e-7)
    np.testing.assert_allclose(edges[:, :2], edges[:, 4:6], atol=1e-7)
    np.testing.assert_allclose(edges[:, 6], np.array([1, -1, 1]) / np.sqrt(3), atol=1e-6)
    assert not edges[:, 7].any()


def test_a_complex_beyond_the_limit_is_named_and_told_what_to_use():
    cells = CellComplex.from_boundaries([], num_vertices=3001, name="dust")
    with pytest.raises(
        SlepiansTooLargeError, match=r"complex 'dust': 3001 .* limit is 3000.*use bspe"
    ):
        encode(cells, Slepians(8))


def test_neighborhoods_beyond_the_limit_are_refused_unless_they_are_the_same(make, monkeypatch):
    star, path = make("star of 101"), make("three vertices")
    expected = encode(star, Slepians(8)).encodings[1]
    # All edges of the star have one lower set; the vertices have a large one and many of two cells.
    monkeypatch.setattr(slepians, "MOST_WORK", 102.0**3 + 101 * 2**3 + 1)
    np.testing.assert_array_equal(encode(star, Slepians(8)).encodings[1], expected)
    monkeypatch.setattr(slepians, "MOST_WORK", 10.0)
    with pytest.raises(SlepiansTooLargeError, match="neighborhoods of rank 0 are too large"):
        encode(path, Slepians(8))


def test_blocks_of_sets_change_nothing(make, monkeypatch):
    whole = encode(make("tetrahedra"), Slepians(8)).encodings
    monkeypatch.setattr(slepians, "_BLOCK", 1)
    for one, other in zip(encode(make("tetrahedra"), Slepians(8)).encodings, whole, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
