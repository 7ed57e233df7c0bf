"""The immutable cell complex."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Float64, Int8
from numpy.typing import ArrayLike
from scipy import sparse

from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.features import Features, positions_of
from cellformer.complexes.words import cells_told, picture_of, titled

Boundary: TypeAlias = sparse.csc_array  # int8 values -1, 0, 1

NO_SIGN, SHARED_SIGN, RANK_SIGN, FLIPPING_SIGN = 0, 1, 2, 3
"""How the sign of an encoding's column is ambiguous: not at all, one sign for all ranks
of a complex (the eigenvector covers them all), or one sign per rank. One of the last kind has a
sign per rank too, and the entry of a cell of rank 1 or more changes its sign with the cell's
orientation, as in an eigenvector of a Hodge Laplacian; those of the other kinds do not."""

SIGN_KINDS = (NO_SIGN, SHARED_SIGN, RANK_SIGN, FLIPPING_SIGN)


def boundary_at(boundaries: Sequence[Boundary], num_cells: Sequence[int], rank: int) -> Boundary:
    """``B_rank`` of ``boundaries`` (``B_1 ... B_n``), without entries outside 1 ... n."""
    dim = len(boundaries)
    if 1 <= rank <= dim:
        return boundaries[rank - 1]
    shape = (
        num_cells[rank - 1] if 1 <= rank <= dim + 1 else 0,
        num_cells[rank] if 0 <= rank <= dim else 0,
    )
    return sparse.csc_array(shape, dtype=np.int8)


@dataclass(frozen=True, eq=False)
class CellComplex:
    """A cell complex of any dimension with features and encodings on the cells of every rank.

    The complex *is* its signed boundary matrices ``B_1 ... B_n`` (the paper, section "Cell
    complexes"): column j of ``B_k`` holds the faces, of rank k - 1, of the cell j of rank k, with
    their incidence numbers. Row i of everything of rank k is cell i of rank k. A declared rank
    may be empty.
    """

    num_vertices: int
    boundaries: tuple[Boundary, ...]  # B_1 ... B_n; B_k has shape (cells_{k-1}, cells_k)
    features: tuple[Features, ...]  # one per rank 0 ... n
    encodings: tuple[Float32[np.ndarray, "_ encoding"], ...]  # one per rank, (cells_k, encoding)
    encoding_signs: Int8[np.ndarray, " encoding"]  # of `SIGN_KINDS`
    positions: Float64[np.ndarray, "vertex space"] | None = None
    name: str = ""
    descriptors: Descriptors | None = None  # of the whole complex: one row

    def __repr__(self) -> str:
        faces = "ring" if self.positions is None else "face"  # meshes have places in space
        told = cells_told(self.num_cells, faces)
        columns = len(self.encoding_signs)
        encoded = f"; encodings of {columns} columns" if columns else ""
        return titled("CellComplex", self.name, told + encoded)

    def _repr_svg_(self) -> str | None:
        return picture_of(self)

    @property
    def dim(self) -> int:
        """The highest declared rank."""
        return len(self.boundaries)

    @property
    def num_cells(self) -> tuple[int, ...]:
        """The number of cells of each rank 0 ... n."""
        return (self.num_vertices, *(int(b.shape[1]) for b in self.boundaries))

    def boundary(self, rank: int) -> Boundary:
        """``B_rank``, int8 (cells of rank - 1, cells of rank); without entries outside 1 ... n."""
        return boundary_at(self.boundaries, self.num_cells, rank)

    def with_encodings(
        self,
        encodings: Sequence[Float32[np.ndarray, "_ encoding"]],
        signs: Int8[np.ndarray, " encoding"],
    ) -> "CellComplex":
        """The same complex carrying these encodings instead, one array per rank."""
        for rank, (rows, cells) in enumerate(zip(encodings, self.num_cells, strict=True)):
            if rows.shape != (cells, len(signs)):
                raise ValueError(
                    f"encoding of rank {rank} has shape {rows.shape}, "
                    f"expected {(cells, len(signs))}"
                )
        return replace(self, encodings=tuple(encodings), encoding_signs=signs)

    @classmethod
    def from_boundaries(
        cls,
        boundaries: Sequence[object],
        num_vertices: int | None = None,
        features: Sequence[ArrayLike | Features | None] | None = None,
        positions: ArrayLike | None = None,
        name: str = "",
    ) -> "CellComplex":
        """Makes a complex from the signed boundaries ``B_1 ... B_n``, dense or scipy sparse.

        ``num_vertices`` is needed only when there is no boundary. ``features`` has one entry per
        rank (see `Features.of`). The given matrices are copied. Raises ValueError if an entry is
        not -1, 0 or 1, if shapes do not fit together, if an edge has not two ends, or if
        ``B_{k-1} B_k`` is not zero.
        """
        where = f"complex {name!r}" if name else "complex"
        matrices: list[Boundary] = []
        for rank, given in enumerate(boundaries, start=1):
            wide = sparse.csc_array(given, copy=True)  # tidied in place below
            wide.sum_duplicates()
            wide.eliminate_zeros()
            if not np.isin(wide.data, (-1, 1)).all():
                raise ValueError(f"{where}: B_{rank} has an entry other than -1, 0 and 1")
            matrices.append(
                sparse.csc_array(
                    (wide.data.astype(np.int8), wide.indices, wide.indptr), shape=wide.shape
                )
            )
        if num_vertices is None:
            if not matrices:
                raise ValueError(f"{where}: num_vertices is needed where there is no boundary")
            num_vertices = int(matrices[0].shape[0])
        _check(matrices, num_vertices, where)
        return cls.unchecked(num_vertices, tuple(matrices), features, positions, name)

    @classmethod
    def unchecked(
        cls,
        num_vertices: int,
        boundaries: tuple[Boundary, ...],
        features: Sequence[ArrayLike | Features | None] | None = None,
        positions: ArrayLike | None = None,
        name: str = "",
    ) -> "CellComplex":
        """`from_boundaries` for canonical int8 matrices known to be right, as of a lifting."""
        cells = (num_vertices, *(int(b.shape[1]) for b in boundaries))
        given = [None] * len(cells) if features is None else list(features)
        if len(given) != len(cells):
            raise ValueError(f"features have {len(given)} ranks for a complex of {len(cells)}")
        return cls(
            num_vertices,
            boundaries,
            tuple(
                Features.of(f, n, f"features of rank {k}")
                for k, (f, n) in enumerate(zip(given, cells, strict=True))
            ),
            tuple(np.zeros((n, 0), np.float32) for n in cells),
            np.zeros(0, np.int8),
            positions_of(positions, num_vertices, f"complex {name!r}" if name else "complex"),
            name,
        )


def _check(matrices: Sequence[Boundary], num_vertices: int, where: str) -> None:
    rows = num_vertices
    for rank, matrix in enumerate(matrices, start=1):
        if matrix.shape[0] != rows:
            raise ValueError(
                f"{where}: B_{rank} has {matrix.shape[0]} rows for {rows} cells of rank {rank - 1}"
            )
        rows = int(matrix.shape[1])
    if matrices:
        ends = matrices[0].astype(np.int64)
        bad = (np.diff(ends.indptr) != 2) | (np.asarray(ends.sum(axis=0)).ravel() != 0)
        if bad.any():
            raise ValueError(
                f"{where}: column {int(bad.argmax())} of B_1 is not an edge (one -1 and one 1)"
            )
    for rank in range(2, len(matrices) + 1):
        product = matrices[rank - 2].astype(np.int64) @ matrices[rank - 1].astype(np.int64)
        product.eliminate_zeros()
        if product.nnz:
            cell = int(np.flatnonzero(np.diff(product.tocsc().indptr))[0])
            raise ValueError(
                f"{where}: B_{rank - 1} B_{rank} is not zero at column {cell}: the "
                f"faces of cell {cell} of rank {rank} do not close up"
            )
