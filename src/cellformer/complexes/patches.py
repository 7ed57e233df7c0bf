"""A large complex in patches, each with enough around it that its own cells see what they saw."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64
from scipy import sparse
from scipy.sparse import csgraph

from cellformer.basics.checks import at_least
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.many.ragged import ranges
from cellformer.complexes.matrices import up_adjacency
from cellformer.complexes.subcomplex import restricted

ROUNDS = 4
"""In which the middles of patches are moved to where the patches are widest."""


@dataclass(frozen=True, eq=False)
class Patch:
    """Cells of a complex, with all their faces; some are the patch's own, others lie around these.

    Every cell of the complex is the own cell of one patch.
    """

    chosen: tuple[Int64[np.ndarray, " _"], ...]  # the numbers of the cells of each rank, ascending
    own: tuple[Bool[np.ndarray, " _"], ...]  # which of these are its own

    def of(self, cells: CellComplex) -> CellComplex:
        """The patch as a complex, whose cells keep their order, orientation and features."""
        return restricted(cells, self.chosen)


@dataclass(frozen=True)
class Patches:
    """Cuts a complex into patches of about ``cells`` own cells, each with a halo around these.

    The halo are the cells at most ``halo`` steps away, where a step leads from a cell to any cell
    of its boundary, of whatever rank, or back, and the boundaries of these. So a cell that is at
    most ``halo - 1`` steps from an own one has the same cells around it as in the whole.

    The vertices are divided by who is nearest to one of some vertices that are spread evenly (by
    Lloyd's rounds), small connected components side by side; a cell of a higher rank belongs where
    its first face belongs. A complex of at most ``cells`` cells is one patch. Memory and time grow
    with the number of cells. Raises ValueError for values that are out of range.
    """

    cells: int
    halo: int

    def __post_init__(self) -> None:
        at_least(1, cells=self.cells)
        at_least(0, halo=self.halo)

    def __call__(self, cells: CellComplex) -> tuple[Patch, ...]:
        """The patches of a complex; none has no cell of its own."""
        total = sum(cells.num_cells)
        if total <= self.cells:
            every = tuple(np.arange(count) for count in cells.num_cells)
            return (Patch(every, tuple(np.ones(count, bool) for count in cells.num_cells)),)
        homes = _homes(cells, -(-cells.num_vertices * self.cells // total))
        around = _Around.of(cells)
        count = int(homes[0].max()) + 1
        members = zip(*(_members(of_rank, count) for of_rank in homes), strict=True)
        return tuple(around.patch(own, number, self.halo) for number, own in enumerate(members))


def _homes(cells: CellComplex, vertices: int) -> list[Int64[np.ndarray, " _"]]:
    """The number of the patch of every cell of each rank, for patches of so many vertices."""
    graph = sparse.csr_array(up_adjacency(cells, 0), dtype=np.float64)
    of_vertices = _divided(graph, vertices)
    homes = [np.unique(of_vertices, return_inverse=True)[1].astype(np.int64)]
    for boundary in cells.boundaries:
        homes.append(np.zeros(boundary.shape[1], np.int64))
        bounded = np.diff(boundary.indptr) > 0  # a cell without a boundary belongs anywhere
        homes[-1][bounded] = homes[-2][boundary.indices[boundary.indptr[:-1][bounded]]]
    return homes


def _members(homes: Int64[np.ndarray, " cell"], count: int) -> list[Int64[np.ndarray, " member"]]:
    """The cells of each of so many patches, ascending."""
    ends = np.cumsum(np.bincount(homes, minlength=count))[:-1]
    return np.split(np.argsort(homes, kind="stable"), ends)


def _divided(graph: sparse.csr_array, size: int) -> Int64[np.ndarray, " vertex"]:
    """A number for each vertex of a graph, the same for about ``size`` that lie together."""
    count, labels = csgraph.connected_components(graph, directed=False)
    component = labels.astype(np.int64)
    sizes = np.bincount(component, minlength=count)
    small = sizes < size
    packed = np.cumsum(np.where(small, sizes, 0)) // size
    homes: Int64[np.ndarray, " vertex"] = packed[component].astype(np.int64)
    middles = _spread(component, np.where(small, 0, -(-sizes // size)))
    if not len(middles):
        return homes
    for _ in range(ROUNDS):
        nearest = _nearest(graph, middles)[1]
        middles = _innermost(graph, nearest, middles)
    large = ~small[component]
    homes[large] = homes.max() + 1 + _nearest(graph, middles)[1][large]
    return homes


def _spread(
    component: Int64[np.ndarray, " vertex"], wanted: Int64[np.ndarray, " component"]
) -> Int64[np.ndarray, " middle"]:
    """So many random vertices of each component, the same in every call."""
    shuffled = np.random.default_rng(0).permutation(len(component))
    ordered = shuffled[np.argsort(component[shuffled], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(component, minlength=len(wanted)))[:-1]])
    middles: Int64[np.ndarray, " middle"] = ordered[ranges(starts, starts + wanted)[0]]
    return middles


def _nearest(
    graph: sparse.csr_array, middles: Int64[np.ndarray, " middle"]
) -> tuple[Int64[np.ndarray, " vertex"], Int64[np.ndarray, " vertex"]]:
    """How far each vertex is from the nearest middle, and its place; -1 where none is in reach."""
    steps, _, source = csgraph.dijkstra(
        graph, indices=middles, unweighted=True, min_only=True, return_predecessors=True,
    )  # fmt: skip
    place = np.full(graph.shape[0] + 1, -1)
    place[middles] = np.arange(len(middles))
    reached = np.isfinite(steps)
    return (
        np.where(reached, steps, -1).astype(np.int64),
        place[np.where(reached, source, graph.shape[0])],
    )


def _innermost(
    graph: sparse.csr_array,
    nearest: Int64[np.ndarray, " vertex"],
    middles: Int64[np.ndarray, " middle"],
) -> Int64[np.ndarray, " middle"]:
    """Of each part the vertex that is farthest from all others; its middle where there are none."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    border = np.unique(rows[nearest[rows] != nearest[graph.indices]])
    if not len(border):
        return middles
    depth = _nearest(graph, border)[0]
    order = np.lexsort((depth, nearest))
    last = np.append(nearest[order][1:] != nearest[order][:-1], True)
    found = middles.copy()
    parts = nearest[order[last]]
    found[parts[parts >= 0]] = order[last][parts >= 0]
    return found


@dataclass(frozen=True, eq=False)
class _Around:
    """Which cells bound which, both ways."""

    faces: Sequence[sparse.csc_array]  # of the cells of rank 1, 2, ...
    cofaces: Sequence[sparse.csr_array]  # of the cells of rank 0, 1, ...
    seen: tuple[Int64[np.ndarray, " _"], ...]  # the last patch that each cell was found for

    @classmethod
    def of(cls, cells: CellComplex) -> "_Around":
        return cls(
            cells.boundaries,
            [sparse.csr_array(boundary) for boundary in cells.boundaries],
            tuple(np.full(count, -1) for count in cells.num_cells),
        )

    def patch(self, own: Sequence[Int64[np.ndarray, " _"]], number: int, halo: int) -> Patch:
        """The patch of this number, with these own cells of each rank."""
        for seen, cells in zip(self.seen, own, strict=True):
            seen[cells] = number
        found, edge = [[cells] for cells in own], list(own)
        for _ in range(halo):
            edge = self._step(edge, number)
            for known, new in zip(found, edge, strict=True):
                known.append(new)
        for rank in range(len(found) - 1, 0, -1):
            below = self._new(rank - 1, [_listed(self.faces[rank - 1], found[rank])], number)
            found[rank - 1].append(below)
        chosen = tuple(np.sort(np.concatenate(parts)) for parts in found)
        is_own = (np.isin(*pair, assume_unique=True) for pair in zip(chosen, own, strict=True))
        return Patch(chosen, tuple(is_own))

    def _step(
        self, edge: Sequence[Int64[np.ndarray, " _"]], number: int
    ) -> list[Int64[np.ndarray, " _"]]:
        """The new cells in the boundary of these, and with these in theirs."""
        reached: list[list[Int64[np.ndarray, " _"]]] = [[] for _ in edge]
        above = below = np.zeros(0, np.int64)
        for rank in range(len(edge) - 1):
            above = _listed(self.cofaces[rank], [edge[rank], above])
            reached[rank + 1].append(above)
        for rank in range(len(edge) - 1, 0, -1):
            below = _listed(self.faces[rank - 1], [edge[rank], below])
            reached[rank - 1].append(below)
        return [self._new(rank, cells, number) for rank, cells in enumerate(reached)]

    def _new(
        self, rank: int, reached: Sequence[Int64[np.ndarray, " _"]], number: int
    ) -> Int64[np.ndarray, " new"]:
        """Those that were not found for this patch before, which now they are."""
        every = np.concatenate([np.zeros(0, np.int64), *reached])
        new = np.unique(every[self.seen[rank][every] != number])
        self.seen[rank][new] = number
        return new


def _listed(
    matrix: sparse.csc_array | sparse.csr_array, of: Sequence[Int64[np.ndarray, " _"]]
) -> Int64[np.ndarray, " found"]:
    """The indices that are stored for some columns, or rows, each once."""
    lines = np.concatenate(of)
    starts, stops = (matrix.indptr[lines + end].astype(np.int64) for end in (0, 1))
    stored = ranges(starts, stops)[0]
    return np.unique(matrix.indices[stored]).astype(np.int64)
