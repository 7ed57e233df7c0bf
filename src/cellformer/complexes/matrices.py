"""Neighborhood matrices, derived from the boundaries (the paper, "Neighborhood matrices").

Every function takes a `CellComplex` or a whole `CellBatch` and returns a scipy CSR matrix with
sorted indices, integer entries and no stored zero.
"""

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from scipy import sparse

from cellformer.complexes.cell_complex import Boundary

Matrix: TypeAlias = sparse.csr_array


@runtime_checkable
class Bounded(Protocol):
    """Anything that has boundary matrices."""

    @property
    def dim(self) -> int:
        """The highest rank."""

    @property
    def num_cells(self) -> tuple[int, ...]:
        """The number of cells of each rank."""

    def boundary(self, rank: int) -> Boundary:
        """``B_rank``, without entries where there is none."""


def incidence(cells: Bounded, rank: int) -> Matrix:
    """``I_k = |B_k|``: (cells of rank - 1, cells of rank), 1 where one is a face of the other."""
    return _tidy(abs(_wide(cells, rank)))


def up_adjacency(cells: Bounded, rank: int) -> Matrix:
    """``A_up_k``: the number of (k+1)-cells that two different k-cells have in common."""
    faces = abs(_wide(cells, rank + 1))
    return _without_diagonal(faces @ faces.T)


def down_adjacency(cells: Bounded, rank: int) -> Matrix:
    """``A_down_k``: the number of (k-1)-cells that two different k-cells have in common."""
    faces = abs(_wide(cells, rank))
    return _without_diagonal(faces.T @ faces)


def up_laplacian(cells: Bounded, rank: int) -> Matrix:
    """``L_up_k = B_{k+1} B_{k+1}^T``."""
    faces = _wide(cells, rank + 1)
    return _tidy(faces @ faces.T)


def down_laplacian(cells: Bounded, rank: int) -> Matrix:
    """``L_down_k = B_k^T B_k``."""
    faces = _wide(cells, rank)
    return _tidy(faces.T @ faces)


def hodge_laplacian(cells: Bounded, rank: int) -> Matrix:
    """``L_k = B_k^T B_k + B_{k+1} B_{k+1}^T``."""
    return _tidy(down_laplacian(cells, rank) + up_laplacian(cells, rank))


def containment(cells: Bounded, low: int, high: int) -> Matrix:
    """(cells of rank low, cells of rank high): 1 where the one lies in the closure of the other."""
    if not 0 <= low < high <= cells.dim:
        raise ValueError(f"need 0 <= low < high <= {cells.dim}, got low {low} and high {high}")
    product = abs(_wide(cells, low + 1))
    for rank in range(low + 2, high + 1):
        product = product @ abs(_wide(cells, rank))
    product = _tidy(product)
    product.data[:] = 1
    return product


def barycentric_skeleton(cells: Bounded) -> Matrix:
    """The graph on the cells of all ranks, rank after rank, joining a cell to each of its faces.

    This is the 1-skeleton of the barycentric subdivision (the paper, section "BSPe"): faces of
    every lower rank count, so a 2-cell is joined to its vertices too. Square, symmetric, 0 and 1.
    """
    ranks = range(cells.dim + 1)
    blocks = [
        [
            containment(cells, low, high)
            if low < high
            else sparse.csr_array((cells.num_cells[low], cells.num_cells[high]), dtype=np.int32)
            for high in ranks
        ]
        for low in ranks
    ]
    upper = sparse.block_array(blocks, format="csr")
    return _tidy(upper + upper.T)


def _wide(cells: Bounded, rank: int) -> Boundary:
    return cells.boundary(rank).astype(np.int32)  # int8 would overflow in a product


def _tidy(matrix: object) -> Matrix:
    tidy = sparse.csr_array(matrix)
    tidy.eliminate_zeros()
    tidy.sort_indices()
    return tidy


def _without_diagonal(matrix: object) -> Matrix:
    square = sparse.coo_array(matrix)
    off = square.row != square.col
    return _tidy(
        sparse.coo_array((square.data[off], (square.row[off], square.col[off])), shape=square.shape)
    )
