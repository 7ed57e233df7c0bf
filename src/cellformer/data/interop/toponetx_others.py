"""Cell complexes from TopoNetX's simplicial and combinatorial complexes."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.polygons import edge_boundary, polygon_boundary
from cellformer.data.interop.attributes import gather, gather_positions

if TYPE_CHECKING:
    import toponetx

Cells = list[list[tuple[int, ...]]]
"""The vertex numbers of the cells of rank 1, 2, ...: each cell ascending, all in order."""


def from_simplicial(
    complex_: "toponetx.SimplicialComplex",
    features: Sequence[Sequence[str]] = (),
    positions: str | None = None,
    name: str = "",
) -> CellComplex:
    """A TopoNetX ``SimplicialComplex`` of any dimension, with named attributes as features.

    Vertices are sorted, simplices by their vertices, as in TopoNetX's own matrices; the incidence
    number of the face without the i-th vertex is ``(-1)^i``. ``features[k]`` names the attributes
    of rank k. Raises ValueError if nodes cannot be sorted or an attribute is missing.
    """
    where = f"complex {name!r}: " if name else ""
    nodes = _sorted(complex_.skeleton(0), where)
    dim = max(complex_.dim, 1)
    cells = [_numbered(complex_.skeleton(rank), nodes) if rank <= complex_.dim else []
             for rank in range(1, dim + 1)]  # fmt: skip
    boundaries: list[Any] = [edge_boundary(len(nodes), _pairs(cells[0]))]
    for rank in range(2, dim + 1):
        faces = {cell: number for number, cell in enumerate(cells[rank - 2])}
        columns = cells[rank - 1]
        rows = [faces[cell[:i] + cell[i + 1 :]] for cell in columns for i in range(rank + 1)]
        signs = np.tile(np.where(np.arange(rank + 1) % 2, -1, 1), len(columns))
        boundaries.append(
            sparse.csc_array(
                (signs, rows, np.arange(0, len(rows) + 1, rank + 1)),
                shape=(len(faces), len(columns)),
            )
        )
    return _made(boundaries, complex_, nodes, cells, features, positions, name)


def from_combinatorial(
    complex_: "toponetx.CombinatorialComplex",
    features: Sequence[Sequence[str]] = (),
    positions: str | None = None,
    name: str = "",
) -> CellComplex:
    """A TopoNetX ``CombinatorialComplex`` whose cells are edges and polygons.

    Its cells are sets of vertices without an order, so a cell of rank 2 must be the set of vertices
    of one cycle of its edges, without chords: as in one that was made from a cell complex. Raises
    ValueError, naming the cell, for others, for ranks above 2, and as `from_simplicial` does.
    """
    where = f"complex {name!r}: " if name else ""
    nodes = _sorted(complex_.skeleton(0), where)
    if complex_.dim > 2:
        raise ValueError(f"{where}cells of rank {complex_.dim} have no boundary; remove them")
    cells = [_numbered(complex_.skeleton(rank), nodes) if rank <= complex_.dim else []
             for rank in (1, 2)]  # fmt: skip
    neighbors: list[set[int]] = [set() for _ in nodes]
    for cell in cells[0]:
        if len(cell) != 2:
            names = [nodes[vertex] for vertex in cell]
            raise ValueError(f"{where}the cell {names} of rank 1 does not join two vertices")
        neighbors[cell[0]].add(cell[1])
        neighbors[cell[1]].add(cell[0])
    walks = []
    for cell in cells[1]:
        walk = _cycle(cell, neighbors)
        if walk is None:
            names = [nodes[vertex] for vertex in cell]
            raise ValueError(
                f"{where}the cell {names} of rank 2 is not a cycle of edges without chords, so its "
                "boundary is not known; make a toponetx.CellComplex, where cells have an order"
            )
        walks.append(walk)
    edges = _pairs(cells[0])
    boundaries = [edge_boundary(len(nodes), edges), polygon_boundary(len(nodes), edges, walks)]
    return _made(boundaries, complex_, nodes, cells, features, positions, name)


def _sorted(vertices: Iterable[Iterable[Hashable]], where: str) -> list[Any]:
    try:
        return sorted(node for (node,) in vertices)
    except TypeError as error:
        raise ValueError(f"{where}nodes of different types cannot be sorted: {error}") from None


def _numbered(cells: Iterable[Iterable[Hashable]], nodes: list[Any]) -> list[tuple[int, ...]]:
    number = {node: index for index, node in enumerate(nodes)}
    return sorted(tuple(sorted(number[node] for node in cell)) for cell in cells)


def _pairs(cells: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(cells, np.int64).reshape(-1, 2)


def _cycle(cell: tuple[int, ...], neighbors: list[set[int]]) -> list[int] | None:
    """The vertices in order around; None unless each has two neighbors among them, all joined."""
    inside = {vertex: sorted(neighbors[vertex] & set(cell)) for vertex in cell}
    if len(cell) < 3 or any(len(two) != 2 for two in inside.values()):
        return None
    walk = [cell[0], inside[cell[0]][0]]
    while len(walk) <= len(cell):
        one, other = inside[walk[-1]]
        walk.append(other if one == walk[-2] else one)
        if walk[-1] == walk[0]:
            break
    return walk[:-1] if len(walk) == len(cell) + 1 else None


def _made(
    boundaries: Sequence[Any],
    complex_: "toponetx.SimplicialComplex | toponetx.CombinatorialComplex",
    nodes: list[Any],
    cells: Cells,
    features: Sequence[Sequence[str]],
    positions: str | None,
    name: str,
) -> CellComplex:
    where = f"complex {name!r}: " if name else ""
    ranked: Cells = [[(vertex,) for vertex in range(len(nodes))], *cells]
    none: Sequence[str] = ()
    wanted = [*features, *[none] * (len(ranked) - len(features))]
    rows: list[list[Mapping[str, Any]]] = [
        [complex_[tuple(nodes[vertex] for vertex in cell)] for cell in own] for own in ranked
    ]
    return CellComplex.from_boundaries(
        boundaries,
        features=[
            gather(own, names, f"{where}cell of rank {rank}")
            for rank, (own, names) in enumerate(zip(rows, wanted, strict=False))
        ],
        positions=gather_positions(rows[0], positions, f"{where}vertex"),
        name=name,
    )
