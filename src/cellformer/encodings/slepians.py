"""TopoSlepiansPE: signals of one band, concentrated on the neighborhood of one cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray
from scipy import linalg

from cellformer.complexes.cell_complex import FLIPPING_SIGN, CellComplex
from cellformer.complexes.coloring import cell_colors
from cellformer.complexes.many.ragged import ranges
from cellformer.complexes.relabel import permute
from cellformer.encodings.encode import EncodedRanks, check_size, encoded
from cellformer.encodings.numerics.eigenspaces import concentrated_basis, settle

MOST_CELLS = 3000
"""The largest rank for which the dense bands are computed."""
MOST_WORK = 1e12
"""The largest sum of the cubes of the distinct sets' sizes in one rank: some ten minutes."""

_SAME = 1e-9  # concentrations that round to the same multiple of it tie
_TIE = 1e-6  # scores closer than this tie: far above rounding
_NOTHING_LEFT = 1e-6  # a score from here down is of a Slepian in the span of those before
_NO_CONCENTRATION = 1e-9  # from here down a concentration is zero, and there is no Slepian
_BLOCK = 2_000_000  # entries of the sets' matrices that are held at a time
_NO_FREQUENCY = 1e-9  # a singular value from here down, relative to the largest, is zero


class SlepiansTooLargeError(ValueError):
    """A complex is beyond what Slepians can be computed for."""

    @classmethod
    def of(cls, cells: CellComplex, reason: str) -> "SlepiansTooLargeError":
        """The error of a complex, by its name."""
        where = f"complex {cells.name!r}" if cells.name else "complex"
        return cls(f"{where}: {reason}; use bspe, rwbspe, rwpe or hodgelap instead")


@dataclass(frozen=True)
class Slepians:
    """Topological Slepians of each rank that together cover it, then harmonic eigenvectors.

    Each k-cell has an upper set, itself and its upper neighbors, with the band of the non-zero
    eigenvalues of ``L_up_k``, and a lower set likewise with ``L_down_k``. The Slepians of a set S
    are the orthonormal eigenvectors of ``B_F C_S B_F`` with an eigenvalue (the concentration) above
    1e-9: ``B_F`` is the orthogonal projector onto the band, and ``C_S`` keeps the values in S. They
    are got from the eigenvectors w of ``B_F`` restricted to S, whose eigenvalues are the same, as
    ``B_F w`` brought to unit length.

    Of all of a rank (the paper: a multiset, in which many are there several times) one after the
    other is taken: that with the largest product of its concentration and its squared distance from
    the span of those before. So they spread over the cells, and none is there twice. Where that
    ties, the upper set comes before the lower; cells come in an order of their surroundings
    (``cell_colors``), so that numbers decide only between cells that these do not tell apart. When
    no product is above a millionth, a basis of the kernel of ``L_k`` follows; what is then missing
    of ``size`` is zero.

    Local: each rank has its own vectors and signs. Raises SlepiansTooLargeError, a ValueError, if
    a rank has more than 3000 cells, since bands are dense matrices, or if its neighborhoods are so
    large that their eigenvalues would take more than some ten minutes.

    Source: the paper, section "TopoSlepiansPE" and appendix "Topological Slepians", equation
    "slep_sol". Deviation: the paper does not say which ``size`` vectors it keeps.
    """

    size: int = 8

    def __post_init__(self) -> None:
        check_size(self.size)

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        """The encoding of a complex."""
        if max(cells.num_cells) > MOST_CELLS:
            rank = cells.num_cells.index(max(cells.num_cells))
            raise SlepiansTooLargeError.of(
                cells,
                f"{max(cells.num_cells)} cells of rank {rank} are too many for the dense matrices "
                f"of Slepians (the limit is {MOST_CELLS})",
            )
        orders = [np.argsort(colors, kind="stable") for colors in cell_colors(cells)]
        ordered = permute(cells, orders)
        boundaries = [boundary.toarray().astype(np.float64) for boundary in ordered.boundaries]
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
                raise SlepiansTooLargeError.of(
                    cells,
                    f"the neighborhoods of rank {rank} are too large for Slepians (the cubes of "
                    f"their sizes sum to {work:.0e}, the limit is {MOST_WORK:.0e})",
                )
            found = _rank_slepians(upper, lower, self.size)
            vectors.append(np.empty_like(found))
            vectors[rank][orders[rank]] = found
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
    count = len(upper.projector)
    found = [(score, 0, column) for score, column in _covering(upper, size)]
    found += [(score, 1, column) for score, column in _covering(lower, size)]
    # The bands are orthogonal, so what one direction takes leaves the scores of the other.
    found.sort(key=lambda one: (-round(one[0] / _TIE), one[1]))
    columns = [column for _, _, column in found[:size]]
    harmonics = min(count - upper.frequencies - lower.frequencies, size - len(columns))
    if harmonics > 0:
        harmonic = np.eye(count) - upper.projector - lower.projector
        columns.extend(concentrated_basis(harmonic.diagonal(), harmonic.__getitem__, harmonics).T)
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0))


class _Candidates(NamedTuple):
    """Slepians of distinct sets of one size, each given by its values inside its set."""

    cells: NDArray[np.int64]  # (set,), the first of those whose set it is
    members: NDArray[np.int64]  # (set, member)
    inside: NDArray[np.float64]  # (set, member, slepian), unit vectors
    concentrations: NDArray[np.float64]  # (set, slepian), falling; zero: no Slepian
    left: NDArray[np.float64]  # (set, slepian), squared distance from the span of those taken

    def scores(self) -> NDArray[np.float64]:
        return self.concentrations * self.left


def _covering(sets: _Sets, size: int) -> list[tuple[float, NDArray[np.float64]]]:
    """(score, Slepian) of those of one direction that are taken first, scores falling."""
    if not sets.frequencies:
        return []
    groups = _candidates(sets, size)
    taken: list[tuple[float, NDArray[np.float64]]] = []
    basis = np.zeros((len(sets.projector), size))
    while len(taken) < size:
        scores = [group.scores() for group in groups]
        best = max(found.max() for found in scores)
        if best <= _NOTHING_LEFT:
            break
        group, which, number = _first(groups, scores, best)
        concentration = group.concentrations[which, number]
        scaled = group.inside[which, :, number] / np.sqrt(concentration)
        slepian = sets.projector[:, group.members[which]] @ scaled
        slepian = settle(np.ones(1), slepian[:, None], _SAME)[:, 0]
        rest = slepian.copy()
        for _ in range(2):  # the second time removes what rounding left
            rest -= basis @ (basis.T @ rest)
        rest /= np.linalg.norm(rest)
        basis[:, len(taken)] = rest
        taken.append((float(best), slepian))
        for group in groups:
            # A direction of the band meets B_F w as it meets w inside the set.
            met = np.einsum("sm,smk->sk", rest[group.members], group.inside)
            share = np.divide(met**2, group.concentrations, out=np.zeros_like(met),
                              where=group.concentrations > 0)  # fmt: skip
            np.maximum(group.left - share, 0, out=group.left)
    return taken


def _first(
    groups: Sequence[_Candidates], scores: Sequence[NDArray[np.float64]], best: float
) -> tuple[_Candidates, int, int]:
    """The first candidate with the best score: by cell, then by number within its set."""
    first = None
    for group, found in zip(groups, scores, strict=True):
        for which, number in np.argwhere(found >= (1 - _TIE) * best)[:1].tolist():
            key = (int(group.cells[which]), number)
            if first is None or key < first[0]:
                first = (key, group, which)
    assert first is not None
    return first[1], first[2], first[0][1]


def _candidates(sets: _Sets, size: int) -> list[_Candidates]:
    """The ``size`` most concentrated Slepians of each distinct set, in the order of their cells."""
    widths = np.diff(sets.offsets)
    groups = []
    for width in np.unique(widths).tolist():
        cells = np.flatnonzero(widths == width)
        members = sets.members[ranges(sets.offsets[cells], sets.offsets[cells + 1])[0]]
        _, first = np.unique(members.reshape(-1, width), axis=0, return_index=True)
        first.sort()
        members = members.reshape(-1, width)[first]
        step = max(1, _BLOCK // width**2)
        parts = [_solved(sets.projector, members[i : i + step], size)
                 for i in range(0, len(members), step)]  # fmt: skip
        concentrations = np.concatenate([part[0] for part in parts])
        inside = np.concatenate([part[1] for part in parts])
        groups.append(
            _Candidates(cells[first], members, inside, concentrations, np.ones_like(concentrations))
        )
    return groups


def _solved(
    projector: NDArray[np.float64], sets: NDArray[np.int64], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Concentrations, falling, and eigenvectors of each set (row); those that tie are settled."""
    values, inside = np.linalg.eigh(projector[sets[:, :, None], sets[:, None, :]])
    values, inside = np.minimum(values[:, ::-1], 1.0), inside[:, :, ::-1].copy()
    values = np.where(values > _NO_CONCENTRATION, values, 0.0)
    tied = (abs(np.diff(values)) <= _SAME) & (values[:, 1:] > 0)
    for which in np.flatnonzero(tied.any(axis=1)).tolist():
        row = values[which]
        known = np.count_nonzero(row)
        scaled = inside[which, :, :known] / np.sqrt(row[:known])
        vectors = projector[:, sets[which]] @ scaled
        settled = settle(row[:known], vectors, _SAME)
        inside[which, :, :known] = inside[which, :, :known] @ (vectors.T @ settled)
    return values[:, :size], inside[:, :, :size]
