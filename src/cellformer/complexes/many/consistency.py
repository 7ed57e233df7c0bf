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
    found = fault_of_shapes(ragged)
    if found is not None:
        return found
    below: NDArray[Any] | None = None
    for number, rank in enumerate(ragged.ranks):
        fault = fault_of_cut(rank, below)
        if fault is not None:
            return f"rank{number}_{fault[0]}", fault[1]
        below = rank.offsets
    return None


def fault_of_shapes(ragged: RaggedComplexes) -> Fault | None:
    """The same of what can be told without reading more than one number of each complex."""
    signs = ragged.encoding_signs
    if signs.ndim != 1 or not np.isin(signs, SIGN_KINDS).all():
        return "encoding_signs", "it holds an unknown kind of sign"
    for number, rank in enumerate(ragged.ranks):
        found = _wrong_kind(rank) or _wrong_lengths(rank, len(ragged), len(signs))
        if found is not None:
            return f"rank{number}_{found[0]}", found[1]
    return _wrong_rows(ragged)


def fault_of_part(
    rank: RaggedRank, below: NDArray[Any] | None, first: int, last: int
) -> Fault | None:
    """What of the complexes ``first`` to ``last`` does not fit, of a rank whose offsets are right.

    ``below`` are the offsets of the rank below. The array has no rank in its name.
    """
    start, stop = rank.offsets[[first, last]].tolist()
    face_offsets = np.asarray(rank.face_offsets[start : stop + 1], np.int64)
    begin, end = face_offsets[[0, -1]].tolist()
    faces = len(rank.faces)
    if not 0 <= begin <= end <= faces or (np.diff(face_offsets) < 0).any():
        return "face_offsets", f"it does not divide {faces} faces among the cells"
    part = RaggedRank(
        rank.offsets[first : last + 1] - start,
        face_offsets - begin,
        rank.faces[begin:end],
        rank.signs[begin:end],
        rank.discrete[start:stop],
        rank.continuous[start:stop],
        rank.encodings[start:stop],
        rank.signed[start:stop],
    )
    return fault_of_cut(part, None if below is None else below[first : last + 1])


def fault_of_cut(rank: RaggedRank, below: NDArray[Any] | None) -> Fault | None:
    """The same of a rank alone, whose shapes fit; ``below`` has the offsets of the one below."""
    return _wrong_faces(rank) or _wrong_entries(rank, below)


def _wrong_kind(rank: RaggedRank) -> Fault | None:
    for name, (kind, axes) in KINDS.items():
        array = rank.lying(name)
        if array.dtype.kind != kind or array.ndim != axes:
            return name, f"it holds {array.dtype} in {array.ndim} axes"
    return None


def _wrong_lengths(rank: RaggedRank, complexes: int, encodings: int) -> Fault | None:
    cells = len(rank.lying("face_offsets")) - 1
    if len(rank.offsets) != complexes + 1 or not _are_offsets(rank.offsets, cells):
        return "offsets", f"it does not divide {cells} cells among {complexes} complexes"
    for name in ("discrete", "continuous", "encodings", "signed"):
        rows = len(rank.lying(name))
        if rows != cells:
            return name, f"it has {rows} rows for {cells} cells"
    columns = rank.lying("encodings").shape[1]
    if columns != encodings:
        return "encodings", f"it has {columns} columns, {encodings} have signs"
    return None


def _wrong_faces(rank: RaggedRank) -> Fault | None:
    cells, faces = len(rank.face_offsets) - 1, len(rank.faces)
    if not _are_offsets(rank.face_offsets, faces):
        return "face_offsets", f"it does not divide {faces} faces among {cells} cells"
    if len(rank.signs) != faces:
        return "signs", f"it has {len(rank.signs)} entries for {faces} faces"
    return None


def _wrong_entries(rank: RaggedRank, below: NDArray[Any] | None) -> Fault | None:
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
        expected = len(ragged.ranks[rank].lying("discrete"))
    targets, described = ragged.targets, ragged.descriptors
    if targets is not None and (targets.ndim != 2 or len(targets) != expected):
        return "targets", f"its shape is {targets.shape} for {expected} rows"
    if described is not None:
        for name in ("counts", "values"):
            rows = described.lying(name)
            if rows.ndim != 2 or len(rows) != len(ragged):
                return f"descriptor_{name}", f"its shape is {rows.shape}, {len(ragged)} complexes"
    return None


def _are_offsets(offsets: NDArray[Any], end: int) -> bool:
    """Whether they rise from 0 to the end."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end:
        return False
    starts = range(0, len(offsets), CHUNK)
    return all(bool((np.diff(offsets[at : at + CHUNK + 1]) >= 0).all()) for at in starts)


def _reaches_outside(rank: RaggedRank, below: NDArray[Any] | None) -> bool:
    """Whether a face is no cell of the rank below, which has these offsets, in the same complex."""
    if below is None:
        return len(rank.faces) > 0
    starts = np.asarray(rank.face_offsets[rank.offsets])  # of the faces of each complex
    sizes = np.diff(below)
    cuts = np.searchsorted(starts, np.arange(CHUNK, len(rank.faces), CHUNK))
    for first, last in itertools.pairwise([0, *np.unique(cuts).tolist(), len(sizes)]):
        faces = rank.faces[starts[first] : starts[last]]
        ends = np.repeat(sizes[first:last], np.diff(starts[first : last + 1]))
        if ((faces < 0) | (faces >= ends)).any():
            return True
    return False
