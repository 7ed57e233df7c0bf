"""The clique complex of a graph."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64
from scipy import sparse

from cellformer.basics.checks import at_least
from cellformer.complexes.cell_complex import Boundary, CellComplex
from cellformer.complexes.graph import Graph
from cellformer.complexes.many.ragged import ranges
from cellformer.complexes.polygons import edge_boundary
from cellformer.lifting.lift import LiftingLimitError, OverLimit, check_limits, describe
from cellformer.lifting.skeleton import with_boundaries

_BLOCK = 1 << 20  # candidates looked at together, to bound the memory


@dataclass(frozen=True)
class Cliques:
    """The clique (flag) complex: every k + 1 vertices that are all joined are a k-cell.

    The cells do not depend on how the vertices are numbered. From rank 2 on they come in the
    lexicographic order of their vertices, each cell's in ascending order. The incidence number of
    the face without the i-th vertex is ``(-1)^i``, except that a triangle is turned over where its
    edge of the lowest number would get -1 (as all liftings orient their faces).

    Size limit: a graph has at most ``vertices choose k + 1`` k-cells, and has that many if it is
    complete. The default limits suffice for ``max_dim`` 2 on graphs of a million edges with few
    triangles; at either one the lifting stops within seconds. The limit on cells is the same for
    every numbering of the vertices, the one on steps approximately so.
    """

    max_dim: int = 2
    """The highest rank; every rank up to it is declared, with or without cells."""
    max_cells: int = 1_000_000
    """The greatest number of cells of rank 2 and higher."""
    max_steps: int = 100_000_000
    """The greatest number of candidates, a clique with one more vertex each, to be examined."""
    over_limit: OverLimit = "fail"
    """Over a limit, "fail" raises `LiftingLimitError`; "truncate" keeps all cells up to the
    highest rank for which the limits suffice, and leaves the ranks above empty."""

    def __post_init__(self) -> None:
        at_least(1, max_dim=self.max_dim)
        check_limits(self.max_cells, self.max_steps, self.over_limit)

    def __call__(self, graph: Graph) -> CellComplex:
        """Lifts a graph; raises `LiftingLimitError` as configured."""
        levels: list[Int64[np.ndarray, "cell corner"]] = []
        try:
            levels.extend(_levels(graph, self.max_dim, self.max_cells, self.max_steps))
        except LiftingLimitError:
            if self.over_limit == "fail":
                raise
        while len(levels) < self.max_dim - 1:
            levels.append(np.zeros((0, len(levels) + 3), np.int64))
        edges = edge_boundary(graph.num_vertices, graph.edges)
        return with_boundaries(graph, (edges, *_boundaries(graph, levels)))


def _levels(
    graph: Graph, max_dim: int, max_cells: int, max_steps: int
) -> Iterator[Int64[np.ndarray, "cell corner"]]:
    """The vertices of the cells of rank 2, 3, ...: ascending rows in lexicographic order.

    Each clique grows from its vertices of low degree to those of high degree, which bounds the
    work by (edges)^1.5 for triangles.
    """
    degree = np.bincount(graph.edges.ravel(), minlength=graph.num_vertices)
    place = np.empty(graph.num_vertices, np.int64)
    place[np.argsort(degree, kind="stable")] = np.arange(graph.num_vertices)
    vertex_at = np.argsort(place)
    rows = np.sort(place[graph.edges], axis=1)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    keys = rows[:, 0] * graph.num_vertices + rows[:, 1]
    higher = rows[:, 1]
    starts = np.searchsorted(rows[:, 0], np.arange(graph.num_vertices + 1))

    cells = steps = 0
    for rank in range(2, max_dim + 1):
        last = rows[:, -1]
        counts = starts[last + 1] - starts[last]
        steps += int(counts.sum())
        block = np.cumsum(counts) // _BLOCK
        found = []
        for part in np.split(rows, np.flatnonzero(np.diff(block)) + 1):
            if steps <= max_steps and cells <= max_cells:
                found.append(_extended(part, starts, higher, keys, graph.num_vertices))
                cells += len(found[-1])
        if steps > max_steps or cells > max_cells:
            what = (
                f"{max_cells} cliques (max_cells)"
                if cells > max_cells
                else f"{max_steps} candidates (max_steps)"
            )
            raise LiftingLimitError(
                f"{describe(graph)}: more than {what} up to rank {rank}; lower max_dim, raise the "
                "limit, or set data.over_limit to skip or truncate (in Python "
                "over_limit='truncate' of the lifting)"
            )
        rows = np.concatenate(found)
        corners = np.sort(vertex_at[rows], axis=1)
        yield corners[np.lexsort(corners.T[::-1])]


def _extended(
    rows: Int64[np.ndarray, "clique corner"],
    starts: Int64[np.ndarray, " vertex_plus_1"],
    higher: Int64[np.ndarray, " edge"],
    keys: Int64[np.ndarray, " edge"],
    num_vertices: int,
) -> Int64[np.ndarray, "larger corner_plus_1"]:
    """All cliques that are one of these and one more vertex, higher than its last."""
    last = rows[:, -1]
    chosen, offsets = ranges(starts[last], starts[last + 1])
    source = np.repeat(np.arange(len(rows)), np.diff(offsets))
    added = higher[chosen]
    for corner in range(rows.shape[1] - 1):
        wanted = rows[source, corner] * num_vertices + added
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        joined = keys[at] == wanted
        source, added = source[joined], added[joined]
    return np.column_stack([rows[source], added])


def _boundaries(graph: Graph, levels: list[Int64[np.ndarray, "_ _"]]) -> tuple[Boundary, ...]:
    """``B_2 ...``. A cell is found by the number of its face without the last vertex, and the
    last vertex: the face of (a, b, c, d) without b is the face of (a, b, c) without b, and d."""
    faces = graph.edges[:, ::-1]  # column i is the face that lacks the i-th vertex
    tables = [np.argsort(_keys(graph, faces, graph.edges[:, -1]))]
    sorted_keys = [_keys(graph, faces, graph.edges[:, -1])[tables[0]]]

    def number(
        level: int, front: Int64[np.ndarray, " cell"], last: Int64[np.ndarray, " cell"]
    ) -> Int64[np.ndarray, " cell"]:
        wanted = front * graph.num_vertices + last
        found: Int64[np.ndarray, " cell"] = tables[level][
            np.searchsorted(sorted_keys[level], wanted)
        ]
        return found

    boundaries = []
    turned = np.ones(graph.num_edges, np.int8)
    for level, rows in enumerate(levels):
        front = rows[:, 0]
        for rank in range(level + 1):
            front = number(rank, front, rows[:, rank + 1])
        smaller = [number(level, faces[front, i], rows[:, -1]) for i in range(level + 2)]
        faces = np.column_stack([*smaller, front])
        order = np.argsort(faces, axis=1)
        ascending = np.take_along_axis(faces, order, axis=1)
        signs = np.where(order % 2, -1, 1).astype(np.int8) * turned[ascending]
        turned = signs[:, 0].copy() if level == 0 else np.ones(len(rows), np.int8)
        signs *= turned[:, None]
        boundaries.append(
            sparse.csc_array(
                (
                    signs.ravel(),
                    ascending.astype(np.int32).ravel(),
                    np.arange(0, ascending.size + 1, level + 3, dtype=np.int32),
                ),
                shape=(len(tables[level]), len(rows)),
            )
        )
        keys = _keys(graph, faces, rows[:, -1])
        tables.append(np.argsort(keys))
        sorted_keys.append(keys[tables[-1]])
    return tuple(boundaries)


def _keys(
    graph: Graph, faces: Int64[np.ndarray, "cell face"], last: Int64[np.ndarray, " cell"]
) -> Int64[np.ndarray, " cell"]:
    """One number per cell, from its face without the last vertex and the last vertex."""
    keys: Int64[np.ndarray, " cell"] = faces[:, -1] * graph.num_vertices + last
    return keys
