import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.coloring import cell_colors
from cellformer.complexes.graph import Graph
from cellformer.complexes.matrices import (
    down_adjacency,
    down_laplacian,
    hodge_laplacian,
    up_adjacency,
    up_laplacian,
)
from cellformer.complexes.relabel import permute
from cellformer.encodings import slepians
from cellformer.encodings.encode import encode
from cellformer.encodings.numerics.eigenspaces import settle
from cellformer.encodings.slepians import (
    Slepians,
    SlepiansTooLargeError,
    band_bases,
)
from cellformer.lifting.induced_cycles import InducedCycles
from cellformer.lifting.lift import lift


def band_projector(laplacian):
    """``B_F`` of the non-zero eigenvalues, by a dense eigendecomposition."""
    values, vectors = np.linalg.eigh(laplacian.toarray().astype(np.float64))
    kept = vectors[:, values > 1e-8]
    return kept @ kept.T


def literal_slepians(projector, chosen):
    """(concentrations, falling, Slepians) of one set, by the dense operator ``B_F C_S B_F``."""
    limiter = np.zeros_like(projector)
    limiter[chosen, chosen] = 1
    values, vectors = np.linalg.eigh(projector @ limiter @ projector)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > 1e-9
    return values[kept], settle(values[kept], vectors[:, kept], 1e-9)


def literal_choice(cells, rank, size):
    """(score, Slepian) of those taken, by distances from spans; cells in the order of colors."""
    candidates = []
    for direction, (adjacency, laplacian) in enumerate(
        [(up_adjacency, up_laplacian), (down_adjacency, down_laplacian)]
    ):
        projector = band_projector(laplacian(cells, rank))
        for cell in range(cells.num_cells[rank]):
            inside = adjacency(cells, rank).toarray()[cell] > 0
            inside[cell] = True
            values, vectors = literal_slepians(projector, np.flatnonzero(inside))
            for number, (value, vector) in enumerate(zip(values, vectors.T, strict=True)):
                if number < size:
                    candidates.append((direction, cell, number, value, vector))
    taken = []
    while len(taken) < size:
        span = np.array([np.zeros(cells.num_cells[rank]), *(vector for _, vector in taken)]).T
        scores = []
        for *_, value, vector in candidates:
            rest = vector - span @ np.linalg.lstsq(span, vector, rcond=None)[0]
            scores.append(value * (rest @ rest))
        best = max(scores, default=0.0)
        if best <= 1e-6:
            break
        first = next(i for i, score in enumerate(scores) if score >= (1 - 1e-6) * best)
        taken.append((best, candidates[first][-1]))
    return taken


def in_order_of_colors(cells):
    orders = [np.argsort(colors, kind="stable") for colors in cell_colors(cells)]
    return permute(cells, orders), orders


def check_against_literal(cells, size):
    ordered, orders = in_order_of_colors(cells)
    for rank, rows in enumerate(encode(cells, Slepians(size)).encodings):
        columns = rows[orders[rank]].T.astype(np.float64)
        expected = literal_choice(ordered, rank, size)
        for column, (_, slepian) in zip(columns, expected, strict=False):
            np.testing.assert_allclose(column, slepian, atol=2e-6)
        rest = columns[len(expected) :]
        laplacian = hodge_laplacian(ordered, rank).toarray()
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


@given(st.integers(0, 10_000), st.integers(0, 10_000))
@settings(deadline=None, max_examples=25)
def test_numbers_of_cells_that_differ_have_no_say(random_complex, transformed, seed, by):
    cells = random_complex(seed)
    renumbered, orders, signs = transformed(cells, by)
    one, other = (encode(each, Slepians(6)).encodings for each in (cells, renumbered))
    for rank, colors in enumerate(cell_colors(cells)):
        if len(np.unique(colors)) == len(colors):
            moved = one[rank][orders[rank]] * signs[rank][:, None]
            same = np.sign((moved * other[rank]).sum(axis=0))
            np.testing.assert_allclose(moved * np.where(same, same, 1), other[rank], atol=1e-5)


def test_all_of_a_molecule_is_covered():
    cells = lift(Graph.from_smiles("CC(C)Cc1ccc(cc1)C(C)C(=O)NCCOC1CCCCC1"), InducedCycles(8))
    found = encode(cells, Slepians(24)).encodings[0]
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1, atol=1e-6)
    assert np.linalg.matrix_rank(found) == len(found) == 24  # 23 Slepians and one harmonic
    reached = (abs(encode(cells, Slepians(8)).encodings[0]) > 0.05).any(axis=1)
    assert reached.mean() > 0.5  # the eight most concentrated ones, all at two branches: 0.29


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
    # Every edge's lower set is the whole triangle: two Slepians of concentration 1, taken once.
    np.testing.assert_allclose(edges[:, :2].T @ edges[:, :2], np.eye(2), atol=1e-6)
    np.testing.assert_allclose(edges[:, 2], np.array([1, -1, 1]) / np.sqrt(3), atol=1e-6)
    assert not edges[:, 3:].any()


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
