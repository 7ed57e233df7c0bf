"""Other numbers and other orientations for the same cells: what every result must respect.

A matrix, an encoding or a model's output may depend on neither, except as its definition says;
these two functions are how that is checked.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cellformer.complexes.cell_complex import Boundary, CellComplex
from cellformer.complexes.graph import Graph


def permute(cells: CellComplex, order: Sequence[NDArray[np.integer] | None]) -> CellComplex:
    """The same complex with cell ``order[k][i]`` of rank k as its cell i; None keeps a rank.

    Features, encodings and positions follow their cells. Orientations stay as they are, so an
    edge may run from a higher to a lower number afterwards (see `flip`).

    Raises ValueError if an entry is not a permutation of the cells of its rank.
    """
    rows = [
        _permutation(given, count, f"order of rank {rank}")
        for rank, (given, count) in enumerate(zip(order, cells.num_cells, strict=True))
    ]
    return replace(
        cells,
        boundaries=tuple(
            _canonical(boundary[rows[rank - 1], :][:, rows[rank]])
            for rank, boundary in enumerate(cells.boundaries, start=1)
        ),
        features=tuple(f.take(r) for f, r in zip(cells.features, rows, strict=True)),
        encodings=tuple(e[r] for e, r in zip(cells.encodings, rows, strict=True)),
        positions=None if cells.positions is None else cells.positions[rows[0]],
    )


def flip(cells: CellComplex, signs: Sequence[NDArray[np.integer] | None]) -> CellComplex:
    """The same complex with the orientation of every cell where ``signs[k]`` is -1 reversed.

    ``signs[k]`` has one entry, 1 or -1, for each cell of rank k; None keeps a rank. A vertex has
    one orientation only, so rank 0 takes None or ones. Signed features change their signs with
    their cells. Other features, encodings and positions are carried along unchanged; an encoding
    that depends on orientations must be made again.

    Raises ValueError if an entry is neither 1 nor -1, or if a vertex would be flipped.
    """
    diagonals = [
        _signs(given, count, f"signs of rank {rank}")
        for rank, (given, count) in enumerate(zip(signs, cells.num_cells, strict=True))
    ]
    if (diagonals[0] < 0).any():
        raise ValueError("a vertex cannot be flipped: pass None for rank 0")
    return replace(
        cells,
        boundaries=tuple(
            _scaled(boundary, diagonals[rank - 1], diagonals[rank])
            for rank, boundary in enumerate(cells.boundaries, start=1)
        ),
        features=tuple(f.turned(d) for f, d in zip(cells.features, diagonals, strict=True)),
    )


def permute_graph(
    graph: Graph,
    vertices: NDArray[np.integer] | None = None,
    edges: NDArray[np.integer] | None = None,
) -> Graph:
    """The same graph with vertex ``vertices[i]`` as its vertex i and edge ``edges[i]`` as edge i.

    Features and positions follow. An edge that runs the other way afterwards, from what is now the
    lower number, has its signed features change their signs. Raises ValueError if an entry is not a
    permutation.
    """
    vertex_rows = _permutation(vertices, graph.num_vertices, "vertices")
    edge_rows = _permutation(edges, graph.num_edges, "edges")
    ends = np.argsort(vertex_rows)[graph.edges[edge_rows]]
    along = np.where(ends[:, 0] > ends[:, 1], -1, 1)
    return replace(
        graph,
        edges=np.sort(ends, axis=1),
        vertex_features=graph.vertex_features.take(vertex_rows),
        edge_features=graph.edge_features.take(edge_rows).turned(along),
        positions=None if graph.positions is None else graph.positions[vertex_rows],
    )


def _permutation(given: NDArray[np.integer] | None, count: int, what: str) -> NDArray[np.int64]:
    if given is None:
        return np.arange(count)
    rows = np.asarray(given).astype(np.int64)
    if rows.shape != (count,) or not np.array_equal(np.sort(rows), np.arange(count)):
        raise ValueError(f"{what} is not a permutation of 0 ... {count - 1}")
    return rows


def _signs(given: NDArray[np.integer] | None, count: int, what: str) -> NDArray[np.int8]:
    if given is None:
        return np.ones(count, np.int8)
    signs = np.asarray(given)
    if signs.shape != (count,) or not np.isin(signs, (-1, 1)).all():
        raise ValueError(f"{what} must be {count} entries 1 or -1")
    return signs.astype(np.int8)


def _scaled(boundary: Boundary, rows: NDArray[np.int8], columns: NDArray[np.int8]) -> Boundary:
    signs = boundary.data * rows[boundary.indices] * np.repeat(columns, np.diff(boundary.indptr))
    return sparse.csc_array(
        (signs.astype(np.int8), boundary.indices, boundary.indptr), shape=boundary.shape
    )


def _canonical(boundary: object) -> Boundary:
    matrix = sparse.csc_array(boundary)
    matrix.sort_indices()
    return matrix
