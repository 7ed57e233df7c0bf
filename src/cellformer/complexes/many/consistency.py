"""Whether the arrays of many complexes fit each other, so that no index reaches outside."""

import itertools
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cellformer.complexes.cell_complex import SIGN_KINDS
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank

Fault: TypeAlias = tuple[str, str]
"""The array, by its name in a store, and what is wrong with it."""

CHUNK = 1_000_000  # offsets, and faces unless one complex has more, that are looked at together
KINDS = {"offsets": ("i", 1), "face_offsets": ("i", 1), "faces": ("i", 1), "signs": ("i", 1),
         "discrete": ("i", 2), "continuous": ("f", 2), "encodings": ("f", 2),
         "signed": ("f", 2)}  # fmt: skip
"""Of the arrays of a rank: integers or floating-point numbers, and how many axes."""


def fault_of(ragged: RaggedComplexes) -> Fault | None:
    """The first array that does not fit the others; None where all do."""
    signs = ragged.encoding_signs
    if signs.ndim != 1 or not np.isin(signs, SIGN_KINDS).all():
        return "encoding_signs", "it holds an unknown kind of sign"
    below: RaggedRank | None = None
    complexes = len(ragged)
    for number, rank in enumerate(ragged.ranks):
        found = (
            _wrong_kind(rank)
            or _wrong_lengths(rank, complexes, len(signs))
            or _wrong_entries(rank, below)
        )
        if found is not None:
            return f"rank{number}_{found[0]}", found[1]
        below = rank
    return _wrong_rows(ragged)


def _wrong_kind(rank: RaggedRank) -> Fault | None:
    for name, (kind, axes) in KINDS.items():
        array = getattr(rank, name)
        if array.dtype.kind != kind or array.ndim != axes:
            return name, f"it holds {array.dtype} in {array.ndim} axes"
    return None


def _wrong_lengths(rank: RaggedRank, complexes: int, encodings: int) -> Fault | None:
    cells, faces = len(rank.face_offsets) - 1, len(rank.faces)
    if len(rank.offsets) != complexes + 1 or not _are_offsets(rank.offsets, cells):
        return "offsets", f"it does not divide {cells} cells among {complexes} complexes"
    if not _are_offsets(rank.face_offsets, faces):
        return "face_offsets", f"it does not divide {faces} faces among {cells} cells"
    if len(rank.signs) != faces:
        return "signs", f"it has {len(rank.signs)} entries for {faces} faces"
    for name in ("discrete", "continuous", "encodings", "signed"):
        rows = len(getattr(rank, name))
        if rows != cells:
            return name, f"it has {rows} rows for {cells} cells"
    if rank.encodings.shape[1] != encodings:
        return "encodings", f"it has {rank.encodings.shape[1]} columns, {encodings} have signs"
    return None


def _wrong_entries(rank: RaggedRank, below: RaggedRank | None) -> Fault | None:
    if rank.signs.size and (rank.signs.min() < -1 or rank.signs.max() > 1):
        return "signs", "it holds an incidence number other than -1, 0 and 1"
    if rank.discrete.size and rank.discrete.min() < 0:
        return "discrete", "it holds a negative category"
    if _reaches_outside(rank, below):
        return "faces", "it names a cell that its complex does not have"
    return None


def _wrong_rows(ragged: RaggedComplexes) -> Fault | None:
    """Of what belongs to complexes, or to the cells of one rank."""
    expected = len(ragged)
    rank = ragged.target_rank
    if rank is not None:
        if not 0 <= rank < len(ragged.ranks):
            return "targets", f"they are of cells of rank {rank}, which there is none of"
        expected = len(ragged.ranks[rank].discrete)
    targets, described = ragged.targets, ragged.descriptors
    if targets is not None and (targets.ndim != 2 or len(targets) != expected):
        return "targets", f"its shape is {targets.shape} for {expected} rows"
    if described is not None:
        for name, rows in (("counts", described.counts), ("values", described.values)):
            if rows.ndim != 2 or len(rows) != len(ragged):
                return f"descriptor_{name}", f"its shape is {rows.shape}, {len(ragged)} complexes"
    return None


def _are_offsets(offsets: NDArray[Any], end: int) -> bool:
    """Whether they rise from 0 to the end."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end:
        return False
    starts = range(0, len(offsets), CHUNK)
    return all(bool((np.diff(offsets[at : at + CHUNK + 1]) >= 0).all()) for at in starts)


def _reaches_outside(rank: RaggedRank, below: RaggedRank | None) -> bool:
    """Whether a face is no cell of the rank below in the same complex."""
    if below is None:
        return len(rank.faces) > 0
    starts = np.asarray(rank.face_offsets[rank.offsets])  # of the faces of each complex
    sizes = np.diff(below.offsets)
    cuts = np.searchsorted(starts, np.arange(CHUNK, len(rank.faces), CHUNK))
    for first, last in itertools.pairwise([0, *np.unique(cuts).tolist(), len(sizes)]):
        faces = rank.faces[starts[first] : starts[last]]
        ends = np.repeat(sizes[first:last], np.diff(starts[first : last + 1]))
        if ((faces < 0) | (faces >= ends)).any():
            return True
    return False
