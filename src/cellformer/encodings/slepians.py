"""TopoSlepiansPE: signals of one band, concentrated on the neighborhood of one cell."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from numpy.typing import NDArray
from scipy import linalg

from cellformer.complexes.cell_complex import RANK_SIGN, Boundary, CellComplex
from cellformer.complexes.neighborhoods import Matrix, down_adjacency, up_adjacency
from cellformer.complexes.ragged import ranges
from cellformer.encodings.eigenspaces import concentrated_basis, settle
from cellformer.encodings.encode import EncodedRanks, check_size, encoded

MOST_CELLS = 3000
"""The largest rank for which the dense bands are computed."""

_SAME = 1e-9  # concentrations that round to the same multiple of it tie
_NO_CONCENTRATION = 1e-9  # from here down a concentration is zero, and there is no Slepian
_NO_FREQUENCY = 1e-9  # a singular value from here down, relative to the largest, is zero


@dataclass(frozen=True)
class Slepians:
    """The most concentrated topological Slepians of each rank, then harmonic eigenvectors.

    Each k-cell has an upper set, itself and its upper neighbors, with the band of the non-zero
    eigenvalues of ``L_up_k``, and a lower set likewise with ``L_down_k``; each set gives the
    Slepians of `slepians_of`. All of a rank are ordered by falling concentration (equal to 1e-9
    is equal), then by cell, the upper set before the lower; a vector that several sets yield is
    there several times (the paper: a multiset). A basis of the kernel of ``L_k`` follows. The
    first ``size`` are kept and missing ones are zero.

    Local: each rank has its own vectors and signs. Raises ValueError if a rank has more than 3000
    cells, since bands are dense matrices.

    Source: the paper, section "TopoSlepiansPE" and appendix "Topological Slepians". Deviation: the
    paper does not say which ``size`` vectors it keeps.
    """

    size: int = 8

    def __post_init__(self) -> None:
        check_size(self.size)

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        """The encoding of a complex."""
        for rank, count in enumerate(cells.num_cells):
            if count > MOST_CELLS:
                where = f"complex {cells.name!r}" if cells.name else "complex"
                raise ValueError(
                    f"{where}: {count} cells of rank {rank} are too many for Slepians, which need "
                    f"dense matrices (the limit is {MOST_CELLS}); use bspe, rwbspe, rwpe or "
                    "hodgelap instead"
                )
        bands = [band_bases(boundary) for boundary in cells.boundaries]
        vectors = []
        for rank, count in enumerate(cells.num_cells):
            upper = bands[rank][0] if rank < cells.dim else np.zeros((count, 0))
            lower = bands[rank - 1][1] if rank else np.zeros((count, 0))
            vectors.append(_rank_slepians(cells, rank, upper, lower, self.size))
        return encoded(vectors, self.size, RANK_SIGN)


def band_bases(
    boundary: Boundary,
) -> tuple[Float64[np.ndarray, "face frequency"], Float64[np.ndarray, "cell frequency"]]:
    """Orthonormal bases of the bands of ``L_up = B B^T`` and ``L_down = B^T B``, both without zero.

    They are the left and right singular vectors of ``B``.
    """
    dense = boundary.toarray().astype(np.float64)
    try:
        left, values, right = np.linalg.svd(dense, full_matrices=False)
    except np.linalg.LinAlgError:  # rare: another algorithm, slower and with fewer ways to fail
        left, values, right = linalg.svd(dense, full_matrices=False, lapack_driver="gesvd")
    found = values > _NO_FREQUENCY * values.max(initial=0)
    return left[:, found], right[found].T


def slepians_of(
    projector: Float64[np.ndarray, "cell cell"], chosen: Int64[np.ndarray, " chosen"]
) -> tuple[Float64[np.ndarray, " slepian"], Float64[np.ndarray, "cell slepian"]]:
    """Concentrations, falling, and Slepians of a band on a set of cells.

    ``projector`` is ``B_F``, the orthogonal projector onto the band; ``chosen`` are the cells of
    the set S. The Slepians are the orthonormal eigenvectors of ``B_F C_S B_F`` with an eigenvalue
    (the concentration) above 1e-9. They are got from the eigenvectors w of ``B_F`` restricted to
    S, whose eigenvalues are the same, as ``B_F w`` brought to unit length.

    Source: the paper, appendix "Topological Slepians", equation "slep_sol".
    """
    values, inside = np.linalg.eigh(projector[np.ix_(chosen, chosen)])
    values, inside = values[::-1], inside[:, ::-1]
    kept = values > _NO_CONCENTRATION
    values, inside = np.minimum(values[kept], 1.0), inside[:, kept]
    vectors = projector[:, chosen] @ (inside / np.sqrt(values))
    return values, settle(values, vectors, _SAME)


class _Sets(NamedTuple):
    """One set of cells around each cell, flat, and the band that goes with them."""

    members: NDArray[np.int64]
    offsets: NDArray[np.int64]
    projector: NDArray[np.float64]

    def of(self, cell: int) -> NDArray[np.int64]:
        return self.members[self.offsets[cell] : self.offsets[cell + 1]]


def _rank_slepians(
    cells: CellComplex,
    rank: int,
    upper: NDArray[np.float64],
    lower: NDArray[np.float64],
    size: int,
) -> NDArray[np.float64]:
    """The columns of one rank, given orthonormal bases of its upper and lower band."""
    count = cells.num_cells[rank]
    both = [
        _with_neighbors(up_adjacency(cells, rank), upper),
        _with_neighbors(down_adjacency(cells, rank), lower),
    ]
    chosen = _most_concentrated(both, size)
    vectors = {
        (cell, direction): slepians_of(both[direction].projector, both[direction].of(cell))[1]
        for cell, direction, _ in chosen
    }
    columns = [vectors[cell, direction][:, number] for cell, direction, number in chosen]
    harmonics = min(count - upper.shape[1] - lower.shape[1], size - len(columns))
    if harmonics > 0:
        harmonic = np.eye(count) - both[0].projector - both[1].projector
        columns.extend(concentrated_basis(harmonic.diagonal(), harmonic.__getitem__, harmonics).T)
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0))


def _with_neighbors(adjacency: Matrix, band: NDArray[np.float64]) -> _Sets:
    count = len(band)
    rows = np.repeat(np.arange(count), np.diff(adjacency.indptr))
    members = np.concatenate([np.arange(count), adjacency.indices.astype(np.int64)])
    owners = np.concatenate([np.arange(count), rows])
    order = np.lexsort((members, owners))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=count))])
    return _Sets(members[order], offsets.astype(np.int64), band @ band.T)


def _most_concentrated(both: list[_Sets], size: int) -> list[tuple[int, int, int]]:
    """(cell, upper or lower set, number within the set) of the first ``size`` Slepians."""
    keys = []
    for direction, sets in enumerate(both):
        sizes = np.diff(sets.offsets)
        for width in np.unique(sizes).tolist():
            cells = np.flatnonzero(sizes == width)
            members = sets.members[ranges(sets.offsets[cells], sets.offsets[cells + 1])[0]].reshape(
                -1, width
            )
            inside = sets.projector[members[:, :, None], members[:, None, :]]
            values = np.linalg.eigvalsh(inside)[:, ::-1][:, :size]
            row, number = np.nonzero(values > _NO_CONCENTRATION)
            concentration = np.round(np.minimum(values[row, number], 1.0) / _SAME)
            keys.append(np.stack([-concentration, cells[row], 0 * row + direction, number]))
    flat = np.concatenate(keys, axis=1) if keys else np.zeros((4, 0))
    first = np.lexsort(flat[::-1])[:size]
    return [(int(c), int(d), int(n)) for c, d, n in flat[1:, first].T.tolist()]
