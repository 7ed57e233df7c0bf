"""Small complexes, and what symmetry tests do to them."""

import itertools
import sys

import numpy as np
import pytest
import torch

import cellformer as cf
from cellformer.basics.parts import trust
from cellformer.complexes.cell_complex import NO_SIGN


def _encoded(cells, seed=0, columns=3, signs=None):
    """Random positive encodings (their sign means nothing unless ``signs`` say so)."""
    rng = np.random.default_rng(seed)
    kinds = np.full(columns, NO_SIGN, np.int8) if signs is None else np.array(signs, np.int8)
    return cells.with_encodings(
        [rng.random((n, len(kinds))).astype(np.float32) for n in cells.num_cells], kinds
    )


def _ring(length, filled=True, seed=0):
    """A cycle of colored vertices, filled by one 2-cell or not.

    1 --- 2
    |  F  |      length 4: edges 01, 12, 23, 03
    0 --- 3
    """
    edges = np.zeros((length, length), int)
    face = np.zeros((length, 1), int)
    for edge in range(length):
        start, stop = edge, (edge + 1) % length
        edges[min(start, stop), edge], edges[max(start, stop), edge] = -1, 1
        face[edge, 0] = 1 if start < stop else -1
    colors = np.random.default_rng(seed).integers(0, 3, length)
    boundaries, features = (
        ([edges, face], [colors, None, None]) if filled else ([edges], [colors, None])
    )
    return _encoded(cf.CellComplex.from_boundaries(boundaries, features=features), seed)


def _path(length, seed=0):
    """Colored vertices in a row; no 2-cell, and no edge either where the length is 1."""
    edges = np.zeros((length, length - 1), int)
    for edge in range(length - 1):
        edges[edge, edge], edges[edge + 1, edge] = -1, 1
    colors = np.random.default_rng(seed).integers(0, 3, length)
    boundaries = [edges] if length > 1 else []
    features = [colors, None] if length > 1 else [colors]
    cells = cf.CellComplex.from_boundaries(boundaries, num_vertices=length, features=features)
    return _encoded(cells, seed)


def _cliques(seed, vertices=6, density=0.7, dim=2, face_features=False):
    """The cliques of a random graph up to a dimension, its vertices colored."""
    rng = np.random.default_rng(seed)
    joined = np.triu(rng.random((vertices, vertices)) < density, 1)
    ranks = [[(v,) for v in range(vertices)]]
    for size in range(2, dim + 2):
        ranks.append(
            [
                simplex
                for simplex in itertools.combinations(range(vertices), size)
                if all(joined[pair] for pair in itertools.combinations(simplex, 2))
            ]
        )
    boundaries = []
    for below, above in itertools.pairwise(ranks):
        number = {simplex: row for row, simplex in enumerate(below)}
        boundary = np.zeros((len(below), len(above)), int)
        for column, simplex in enumerate(above):
            for place in range(len(simplex)):
                boundary[number[simplex[:place] + simplex[place + 1 :]], column] = (-1) ** place
        boundaries.append(boundary)
    features = [rng.integers(0, 3, len(ranks[0])), None] + [
        rng.random((len(rank), 2)).astype(np.float32) if face_features else None
        for rank in ranks[2:]
    ]
    return _encoded(cf.CellComplex.from_boundaries(boundaries, features=features), seed)


def _transformed(cells, orders, signs):
    """The same complex with cell i of rank k renamed ``orders[k][i]`` and turned by a sign."""
    boundaries = []
    for rank, boundary in enumerate(cells.boundaries, start=1):
        dense = boundary.toarray() * signs[rank - 1][:, None] * signs[rank][None, :]
        moved = np.empty_like(dense)
        moved[np.ix_(orders[rank - 1], orders[rank])] = dense
        boundaries.append(moved)

    def move(rows, order):
        moved = np.empty_like(rows)
        moved[order] = rows
        return moved

    features = [
        cf.Features(move(f.discrete, order), move(f.continuous, order))
        for f, order in zip(cells.features, orders, strict=True)
    ]
    other = cf.CellComplex.from_boundaries(boundaries, cells.num_vertices, features)
    encodings = [move(e, order) for e, order in zip(cells.encodings, orders, strict=True)]
    return other.with_encodings(encodings, cells.encoding_signs)


def _relabeled(cells, seed):
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n) for n in cells.num_cells]
    return _transformed(cells, orders, [np.ones(n, int) for n in cells.num_cells])


def _flipped(cells, seed):
    rng = np.random.default_rng(seed)
    signs = [rng.choice([-1, 1], n) for n in cells.num_cells]
    signs[0][:] = 1  # a vertex has no orientation
    return _transformed(cells, [np.arange(n) for n in cells.num_cells], signs)


@pytest.fixture(scope="session")
def encoded():
    return _encoded


@pytest.fixture(scope="session")
def ring():
    return _ring


@pytest.fixture(scope="session")
def path():
    return _path


@pytest.fixture(scope="session")
def cliques():
    return _cliques


@pytest.fixture(scope="session")
def relabeled():
    return _relabeled


@pytest.fixture(scope="session")
def flipped():
    return _flipped


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """Writes a text as a module that can be imported and was not named; gives its name."""
    name = f"own_{tmp_path.name}"

    def write(text):
        (tmp_path / f"{name}.py").write_text(text)
        return name

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(trust, "_allowed", {})
    yield write
    sys.modules.pop(name, None)


@pytest.fixture
def seeded():
    torch.manual_seed(0)
