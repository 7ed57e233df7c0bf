"""TopoSlepiansPE: signals of one band, concentrated on the neighborhood of one cell."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64
from numpy.typing import NDArray
from scipy import linalg

from cellformer.complexes.cell_complex import FLIPPING_SIGN, CellComplex
from cellformer.complexes.many.ragged import ranges
from cellformer.encodings.encode import EncodedRanks, check_size, encoded
from cellformer.encodings.numerics.eigenspaces import concentrated_basis, settle

MOST_CELLS = 3000
"""The largest rank for which the dense bands are computed."""
MOST_WORK = 1e12
"""The largest sum of the cubes of the distinct sets' sizes in one rank: some ten minutes."""

_SAME = 1e-9  # concentrations that round to the same multiple of it tie
_NO_CONCENTRATION = 1e-9  # from here down a concentration is zero, and there is no Slepian
_BLOCK = 2_000_000  # entries of the sets' matrices that are held at a time
_NO_FREQUENCY = 1e-9  # a singular value from here down, relative to the largest, is zero


class SlepiansTooLargeError(ValueError):
    """A complex is beyond what Slepians can be computed for."""

    def __init__(self, cells: CellComplex, reason: str):
        where = f"complex {cells.name!r}" if cells.name else "complex"
        super().__init__(f"{where}: {reason}; use bspe, rwbspe, rwpe or hodgelap instead")


@dataclass(frozen=True)
class Slepians:
    """The most concentrated topological Slepians of each rank, then harmonic eigenvectors.

    Each k-cell has an upper set, itself and its upper neighbors, with the band of the non-zero
    eigenvalues of ``L_up_k``, and a lower set likewise with ``L_down_k``; each set gives the
    Slepians of `slepians_of`. All of a rank are ordered by falling concentration (equal to 1e-9
    is equal), then by cell, the upper set before the lower; a vector that several sets yield is
    there several times (the paper: a multiset). A basis of the kernel of ``L_k`` follows. The
    first ``size`` are kept and missing ones are zero.

    Local: each rank has its own vectors and signs. Raises SlepiansTooLargeError, a ValueError, if
    a rank has more than 3000 cells, since bands are dense matrices, or if its neighborhoods are so
    large that their eigenvalues would take more than some ten minutes.

    Source: the paper, section "TopoSlepiansPE" and appendix "Topological Slepians". Deviation: the
    paper does not say which ``size`` vectors it keeps.
    """

    size: int = 8

    def __post_init__(self) -> None:
        check_size(self.size)

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        """The encoding of a complex."""
        if max(cells.num_cells) > MOST_CELLS:
            rank = cells.num_cells.index(max(cells.num_cells))
            raise SlepiansTooLargeError(
                cells,
                f"{max(cells.num_cells)} cells of rank {rank} are too many for the dense matrices "
                f"of Slepians (the limit is {MOST_CELLS})",
            )
        boundaries = [boundary.toarray().astype(np.float64) for boundary in cells.boundaries]
        bands = [band_bases(boundary) for boundary in boundaries]
        vectors = []
        for rank, count in enumerate(cells.num_cells):
            nothing = np.zeros((count, 0))
            upper, lower = _sets(nothing, nothing), _sets(nothing, nothing)
            if rank < cells.dim:
                upper = _sets(boundaries[rank], bands[rank][0])
            if rank:
                lower = _sets(boundaries[rank - 1].T, bands[rank - 1][1])
            work = _work(upper) + _work(lower)
            if work > MOST_WORK:
                raise SlepiansTooLargeError(
                    cells,
                    f"the neighborhoods of rank {rank} are too large for Slepians (the cubes of "
                    f"their sizes sum to {work:.0e}, the limit is {MOST_WORK:.0e})",
                )
            vectors.append(_rank_slepians(upper, lower, self.size))
        return encoded(vectors, self.size, FLIPPING_SIGN)


def band_bases(
    boundary: Float64[np.ndarray, "face cell"],
) -> tuple[Float64[np.ndarray, "face frequency"], Float64[np.ndarray, "cell frequency"]]:
    """Orthonormal bases of the bands of ``L_up = B B^T`` and ``L_down = B^T B``, both without zero.

    They are the left and right singular vectors of ``B``.
    """
    try:
        left, values, right = np.linalg.svd(boundary, full_matrices=False)
    except np.linalg.LinAlgError:  # rare: another algorithm, slower and with fewer ways to fail
        left, values, right = linalg.svd(boundary, full_matrices=False, lapack_driver="gesvd")
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
    """The set of each cell and its neighbors, one after the other, and the band of all sets."""

    members: NDArray[np.int64]
    offsets: NDArray[np.int64]
    projector: NDArray[np.float64]
    frequencies: int

    def of(self, cell: int) -> NDArray[np.int64]:
        return self.members[self.offsets[cell] : self.offsets[cell + 1]]


def _sets(incidence: NDArray[np.float64], band: NDArray[np.float64]) -> _Sets:
    """Neighbors are the cells (rows) that share a column; ``band`` is an orthonormal basis."""
    shared = abs(incidence) @ abs(incidence).T
    np.fill_diagonal(shared, 1)
    owners, members = np.nonzero(shared)
    offsets = np.searchsorted(owners, np.arange(len(shared) + 1))
    return _Sets(members, offsets, band @ band.T, band.shape[1])


def _work(sets: _Sets) -> float:
    """What the concentrations cost: the cubes of the sizes of the distinct sets."""
    if not sets.frequencies:
        return 0.0
    sizes = np.diff(sets.offsets).astype(np.float64)
    if (sizes**3).sum() <= MOST_WORK:
        return float((sizes**3).sum())
    distinct = {sets.of(cell).tobytes(): sizes[cell] for cell in range(len(sizes))}
    return float(sum(size**3 for size in distinct.values()))


def _rank_slepians(upper: _Sets, lower: _Sets, size: int) -> NDArray[np.float64]:
    """The columns of one rank."""
    both = (upper, lower)
    count = len(upper.projector)
    chosen = _most_concentrated(both, size)
    vectors = {
        (cell, direction): slepians_of(both[direction].projector, both[direction].of(cell))[1]
        for cell, direction, _ in chosen
    }
    columns = [vectors[cell, direction][:, number] for cell, direction, number in chosen]
    harmonics = min(count - upper.frequencies - lower.frequencies, size - len(columns))
    if harmonics > 0:
        harmonic = np.eye(count) - upper.projector - lower.projector
        columns.extend(concentrated_basis(harmonic.diagonal(), harmonic.__getitem__, harmonics).T)
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0))


def _most_concentrated(both: tuple[_Sets, _Sets], size: int) -> list[tuple[int, int, int]]:
    """(cell, upper or lower set, number within the set) of the first ``size`` Slepians."""
    keys = []
    for direction, sets in enumerate(both):
        if not sets.frequencies:
            continue
        sizes = np.diff(sets.offsets)
        for width in np.unique(sizes).tolist():
            cells = np.flatnonzero(sizes == width)
            members = sets.members[ranges(sets.offsets[cells], sets.offsets[cells + 1])[0]].reshape(
                -1, width
            )
            values = _concentrations(sets.projector, members, size)
            row, number = np.nonzero(values > _NO_CONCENTRATION)
            concentration = np.round(np.minimum(values[row, number], 1.0) / _SAME)
            keys.append(np.stack([-concentration, cells[row], 0 * row + direction, number]))
    flat = np.concatenate(keys, axis=1) if keys else np.zeros((4, 0))
    first = np.lexsort(flat[::-1])[:size]
    return [(int(c), int(d), int(n)) for c, d, n in flat[1:, first].T.tolist()]


def _concentrations(
    projector: NDArray[np.float64], sets: NDArray[np.int64], size: int
) -> NDArray[np.float64]:
    """The ``size`` largest concentrations of each set (row), falling; equal sets solved once."""
    distinct, which = np.unique(sets, axis=0, return_inverse=True)
    width = sets.shape[1]
    step = max(1, _BLOCK // width**2)
    values = [
        np.linalg.eigvalsh(projector[part[:, :, None], part[:, None, :]])[:, ::-1][:, :size]
        for part in (distinct[i : i + step] for i in range(0, len(distinct), step))
    ]
    return np.concatenate(values)[which]
