"""Many complexes as one complex: their matrices are the blocks of its block-diagonal ones."""

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64
from scipy import sparse

from cellformer.complexes.cell_complex import Boundary, CellComplex, boundary_at
from cellformer.complexes.many.ragged import RaggedComplexes, ranges, united_faces
from cellformer.complexes.matrices import Matrix


@dataclass(frozen=True, eq=False)
class DisjointUnion:
    """Complexes side by side: rank after rank, in each rank complex after complex.

    It has boundaries, so every function of `neighborhoods` makes the matrices of all complexes
    at once; rows ``offsets[k][i]:offsets[k][i + 1]`` belong to complex i. Unlike a `CellBatch` it
    carries neither features nor tensors.
    """

    offsets: tuple[Int64[np.ndarray, " complex_plus_1"], ...]  # one per rank
    boundaries: tuple[Boundary, ...]

    @classmethod
    def of(cls, complexes: CellComplex | RaggedComplexes) -> "DisjointUnion":
        """The union of a collection, or of a single complex."""
        if isinstance(complexes, CellComplex):
            ends = tuple(np.array([0, count]) for count in complexes.num_cells)
            return cls(ends, complexes.boundaries)
        boundaries = []
        for below, above in itertools.pairwise(complexes.ranks):
            boundaries.append(
                sparse.csc_array(
                    (
                        np.asarray(above.signs),
                        united_faces(below, above),
                        above.face_offsets.astype(np.int32),
                    ),
                    shape=(int(below.offsets[-1]), int(above.offsets[-1])),
                )
            )
        return cls(tuple(np.asarray(rank.offsets) for rank in complexes.ranks), tuple(boundaries))

    @property
    def dim(self) -> int:
        """The highest rank of any complex."""
        return len(self.boundaries)

    @property
    def num_cells(self) -> tuple[int, ...]:
        """The number of cells of each rank, all complexes together."""
        return tuple(int(ends[-1]) for ends in self.offsets)

    def boundary(self, rank: int) -> Boundary:
        """``B_rank`` of the union, without entries outside 1 ... dim."""
        return boundary_at(self.boundaries, self.num_cells, rank)

    def by_complex(
        self,
    ) -> tuple[Int64[np.ndarray, " cell"], Int64[np.ndarray, " complex_plus_1"]]:
        """The cells of all ranks, complex after complex, and where each complex begins.

        Within a complex they come rank after rank, as in the complex alone.
        """
        first = np.cumsum([0, *self.num_cells[:-1]])
        ends = np.stack(self.offsets) + first[:, None]  # rank, complex + 1
        order, offsets = ranges(ends[:, :-1].T.ravel(), ends[:, 1:].T.ravel())
        return order, offsets[:: len(self.offsets)]

    def split_ranks(
        self, rows: Float64[np.ndarray, "cell column"]
    ) -> list[Float64[np.ndarray, "_ column"]]:
        """The rows of all cells, cut into those of each rank."""
        return np.split(rows, np.cumsum(self.num_cells)[:-1])


def reordered(matrix: Matrix, order: Int64[np.ndarray, " row"]) -> Matrix:
    """The square matrix whose row and column i are row and column ``order[i]`` of another."""
    if np.array_equal(order, np.arange(len(order))):
        return matrix
    place = np.empty(len(order), matrix.indices.dtype)
    place[order] = np.arange(len(order), dtype=place.dtype)
    entries, starts = ranges(
        matrix.indptr[order].astype(np.int64), matrix.indptr[order + 1].astype(np.int64)
    )
    result = sparse.csr_array(
        (matrix.data[entries], place[matrix.indices[entries]], starts.astype(place.dtype)),
        shape=matrix.shape,
    )
    result.sort_indices()
    return result


def diagonal_block(matrix: Matrix, rows: slice) -> Matrix:
    """The square block of these rows and columns, in which all their entries lie."""
    bounds = matrix.indptr[rows.start : rows.stop + 1]
    entries = slice(int(bounds[0]), int(bounds[-1]))
    size = rows.stop - rows.start
    return sparse.csr_array(
        (matrix.data[entries], matrix.indices[entries] - rows.start, bounds - bounds[0]),
        shape=(size, size),
    )
