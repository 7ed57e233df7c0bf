"""Holes of a complex, counted exactly, and whether it is a manifold that can be oriented."""

from collections import Counter
from fractions import Fraction
from typing import Literal, TypeAlias

from cellformer.complexes.cell_complex import Boundary, CellComplex

Coefficients: TypeAlias = Literal["Q", "Z2"]


def euler_characteristic(cells: CellComplex) -> int:
    """The alternating sum of the numbers of cells."""
    return sum((-1) ** rank * count for rank, count in enumerate(cells.num_cells))


def betti_numbers(cells: CellComplex, coefficients: Coefficients = "Q") -> tuple[int, ...]:
    """For each rank the dimension of the homology: components, tunnels, voids, ...

    ``coefficients`` are the rational numbers, for which the boundary matrices need their signs, or
    the two numbers modulo 2, for which a one-sided surface encloses a void too. Ranks are found by
    exact elimination. Source: Hatcher, "Algebraic Topology", chapter 2.
    """
    ranks = [0, *(matrix_rank(boundary, coefficients) for boundary in cells.boundaries), 0]
    return tuple(
        count - ranks[rank] - ranks[rank + 1] for rank, count in enumerate(cells.num_cells)
    )


def is_orientable(cells: CellComplex) -> bool:
    """Whether all cells of the highest rank can be oriented so that their boundaries cancel.

    Of a closed manifold, as `is_closed_manifold` says; any other is refused with a ValueError.
    """
    if not is_closed_manifold(cells):
        raise ValueError(f"complex {cells.name!r} is no closed manifold of triangles or tetrahedra")
    # Modulo 2 every component is a cycle of the highest rank; with signs, if it can be oriented.
    return betti_numbers(cells, "Q")[-1] == betti_numbers(cells, "Z2")[-1]


def is_closed_manifold(cells: CellComplex) -> bool:
    """Whether triangles form a closed surface, or tetrahedra a closed 3-manifold.

    That is, whether the link of each vertex is a circle, or a sphere; links of cells of higher rank
    follow. Complexes of other cells or dimensions are none.
    """
    simplices = _simplices(cells)
    return simplices is not None and all(map(_is_sphere, _links(simplices)))


def matrix_rank(matrix: Boundary, coefficients: Coefficients = "Q") -> int:
    """The rank of a matrix of whole numbers, by exact elimination of its columns."""
    columns = [
        {
            row: value
            for row, value in zip(
                matrix.indices[start:stop].tolist(),
                matrix.data[start:stop].tolist(),
                strict=True,
            )
            if (value % 2 if coefficients == "Z2" else value)
        }
        for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    ]
    if coefficients == "Z2":
        return _rank_of_sets([set(column) for column in columns])
    return _rank_of_columns(columns)


def _rank_of_sets(columns: list[set[int]]) -> int:
    """The lowest entry of each reduced column is in a row of its own."""
    reduced: dict[int, set[int]] = {}
    for column in columns:
        while column and (other := reduced.get(low := max(column))) is not None:
            column = column ^ other
        if column:
            reduced[low] = column
    return len(reduced)


def _rank_of_columns(columns: list[dict[int, int]]) -> int:
    reduced: dict[int, dict[int, int | Fraction]] = {}
    for given in columns:
        column: dict[int, int | Fraction] = dict(given)
        while column and (other := reduced.get(low := max(column))) is not None:
            factor = Fraction(column[low]) / other[low]
            times = factor.numerator if factor.denominator == 1 else factor
            for row, value in other.items():
                changed = column.get(row, 0) - times * value
                if changed:
                    column[row] = changed
                else:
                    del column[row]
        if column:
            reduced[low] = column
    return len(reduced)


Simplex: TypeAlias = frozenset[int]


def _simplices(cells: CellComplex) -> list[Simplex] | None:
    """The vertices of the cells of the highest rank, if all are triangles or all tetrahedra."""
    if cells.dim not in (2, 3):
        return None
    corners: list[Simplex] = [frozenset((vertex,)) for vertex in range(cells.num_vertices)]
    for boundary in cells.boundaries:
        ends = zip(boundary.indptr[:-1], boundary.indptr[1:], strict=True)
        corners = [
            frozenset[int]().union(*(corners[face] for face in boundary.indices[start:stop]))
            for start, stop in ends
        ]
    numbers = {vertex for simplex in corners for vertex in simplex}
    pure = all(len(simplex) == cells.dim + 1 for simplex in corners)
    return corners if pure and corners and len(numbers) == cells.num_vertices else None


def _links(simplices: list[Simplex]) -> list[list[Simplex]]:
    """For each vertex what lies opposite to it in the simplices that have it."""
    links: dict[int, list[Simplex]] = {}
    for simplex in simplices:
        for vertex in simplex:
            links.setdefault(vertex, []).append(simplex - {vertex})
    return list(links.values())


def _is_sphere(simplices: list[Simplex]) -> bool:
    """Whether edges form one circle, or triangles one sphere."""
    vertices = {vertex for simplex in simplices for vertex in simplex}
    if len(simplices) != len(set(simplices)) or not _is_connected(simplices):
        return False
    if len(simplices[0]) == 2:
        ends = Counter(vertex for simplex in simplices for vertex in simplex)
        return set(ends.values()) == {2}
    edges = {simplex - {vertex} for simplex in simplices for vertex in simplex}
    closed = all(map(_is_sphere, _links(simplices)))
    return closed and len(vertices) - len(edges) + len(simplices) == 2


def _is_connected(simplices: list[Simplex]) -> bool:
    """Whether one can go from any vertex to any other along the simplices."""
    of_vertex: dict[int, list[Simplex]] = {}
    for simplex in simplices:
        for vertex in simplex:
            of_vertex.setdefault(vertex, []).append(simplex)
    start = next(iter(of_vertex))
    seen, waiting = {start}, [start]
    while waiting:
        for simplex in of_vertex[waiting.pop()]:
            waiting += simplex - seen
            seen |= simplex
    return len(seen) == len(of_vertex)
