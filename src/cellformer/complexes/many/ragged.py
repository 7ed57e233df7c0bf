"""Many complexes as a few flat arrays: what the store memory-maps and what batches are cut from."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Float32, Int, Int8, Int32, Int64
from numpy.typing import NDArray
from scipy import sparse

from cellformer.basics.rounding import narrowed
from cellformer.complexes.cell_complex import CellComplex
from cellformer.complexes.descriptors import Descriptors, concatenate_descriptors
from cellformer.complexes.features import Features
from cellformer.complexes.late import Late


@dataclass(frozen=True, eq=False)
class RaggedRank(Late):
    """The cells of one rank of all complexes, one complex after the other.

    Whole numbers that come from a store may be of a narrower type than others; what is taken of
    them is not.
    """

    offsets: Int64[np.ndarray, " complex_plus_1"]  # complex i has cells offsets[i]:offsets[i + 1]
    face_offsets: Int[np.ndarray, " cell_plus_1"]  # cell c has faces face_offsets[c]:...[c + 1]
    faces: Int[np.ndarray, " face"]  # numbers of cells of the rank below, local to the complex
    signs: Int8[np.ndarray, " face"]  # their incidence numbers
    discrete: Int[np.ndarray, "cell discrete"]
    continuous: Float32[np.ndarray, "cell continuous"]
    encodings: Float32[np.ndarray, "cell encoding"]
    signed: Float32[np.ndarray, "cell signed"]  # as in `Features`

    ARRAYS = ("offsets", "face_offsets", "faces", "signs", "discrete", "continuous", "encodings",
              "signed")  # fmt: skip

    @classmethod
    def bare(
        cls,
        offsets: Int64[np.ndarray, " complex_plus_1"],
        face_offsets: Int[np.ndarray, " cell_plus_1"],
        faces: Int[np.ndarray, " face"],
        signs: Int8[np.ndarray, " face"],
    ) -> "RaggedRank":
        """Cells without features and encodings."""
        cells = len(face_offsets) - 1
        nothing = np.zeros((cells, 0), np.float32)
        discrete = np.zeros((cells, 0), np.int32)
        return cls(offsets, face_offsets, faces, signs, discrete, nothing, nothing, nothing)

    def take(self, complexes: Int64[np.ndarray, " chosen"]) -> "RaggedRank":
        """The same of some complexes, in this order; no Python loop over complexes or cells."""
        cells, offsets = ranges(self.offsets[complexes], self.offsets[complexes + 1])
        own = self.of(complexes)
        face_offsets = own["face_offsets"]
        entries, taken_face_offsets = ranges(face_offsets[cells], face_offsets[cells + 1])
        return type(self)(
            offsets,
            taken_face_offsets,
            np.asarray(own["faces"][entries], np.int32),
            own["signs"][entries],
            np.asarray(own["discrete"][cells], np.int32),
            own["continuous"][cells],
            own["encodings"][cells],
            own["signed"][cells],
        )

    @property
    def columns(self) -> tuple[int, int, int]:
        """The numbers of discrete, continuous and signed columns."""
        discrete, continuous, signed = map(self.lying, ("discrete", "continuous", "signed"))
        return discrete.shape[1], continuous.shape[1], signed.shape[1]


@dataclass(frozen=True, eq=False)
class RaggedComplexes:
    """An ordered collection of complexes; a complex without cells of a rank owns none there."""

    ranks: tuple[RaggedRank, ...]  # one per rank 0 ... highest of any complex
    encoding_signs: Int8[np.ndarray, " encoding"]  # as in `CellComplex`
    targets: Float[np.ndarray, "target_row target"] | None = None  # NaN where one is missing
    target_rank: int | None = None
    """Targets have a row for each complex or, with a rank, for each cell of that rank."""
    descriptors: Descriptors | None = None  # of the complexes
    bounds: Float[np.ndarray, "complex side"] | None = None
    """Below, and then above, the unknown targets of complexes; NaN where there is none."""

    def __len__(self) -> int:
        return len(self.ranks[0].offsets) - 1

    @property
    def num_cells(self) -> Int64[np.ndarray, "complex rank"]:
        """The number of cells of each complex and rank."""
        return np.stack([np.diff(rank.offsets) for rank in self.ranks], axis=1)

    def take(self, complexes: NDArray[np.integer] | Sequence[int]) -> "RaggedComplexes":
        """Some of the complexes, in the given order; IndexError if a number is out of range."""
        chosen = np.asarray(complexes)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise IndexError(
                f"complexes are chosen by a list of numbers, got {chosen.dtype} of shape "
                f"{chosen.shape} (np.flatnonzero turns a mask into numbers)"
            )
        chosen = chosen.astype(np.int64)
        outside = (chosen < 0) | (chosen >= len(self))
        if outside.any():
            raise IndexError(f"complex {chosen[outside][0]} of {len(self)}")
        return type(self)(
            tuple(rank.take(chosen) for rank in self.ranks),
            self.encoding_signs,
            None if self.targets is None else self.targets_of(chosen),
            self.target_rank,
            None if self.descriptors is None else self.descriptors.take(chosen),
            None if self.bounds is None else self.bounds[chosen],
        )

    def targets_of(self, complexes: NDArray[np.integer]) -> Float[np.ndarray, "target_row target"]:
        """The targets of some complexes, in this order; raises ValueError where there are none."""
        if self.targets is None:
            raise ValueError("these complexes have no targets")
        if self.target_rank is None:
            rows = np.asarray(complexes)
        else:
            offsets = self.ranks[self.target_rank].offsets
            rows, _ = ranges(offsets[complexes], offsets[complexes + 1])
        found: Float[np.ndarray, "target_row target"] = self.targets[rows]
        return found

    def __getitem__(self, index: int) -> CellComplex:
        """One complex, with all declared ranks."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"complex {index} of {len(self)}")
        one = self.take([index % len(self)])
        boundaries = tuple(
            sparse.csc_array(
                (above.signs, above.faces, above.face_offsets.astype(np.int32)),
                shape=(len(below.discrete), len(above.discrete)),
            )
            for below, above in itertools.pairwise(one.ranks)
        )
        features = tuple(
            Features(rank.discrete.astype(np.int64), rank.continuous, rank.signed)
            for rank in one.ranks
        )
        return CellComplex(
            len(one.ranks[0].discrete),
            boundaries,
            features,
            tuple(rank.encodings for rank in one.ranks),
            self.encoding_signs,
            descriptors=one.descriptors,
        )

    @classmethod
    def from_complexes(
        cls, complexes: Sequence[CellComplex], targets: NDArray[np.floating] | None = None
    ) -> "RaggedComplexes":
        """Concatenates complexes; ``targets`` has shape (complexes, targets) or (complexes,).

        Raises ValueError, naming the complex, where feature or encoding columns do not agree.
        """
        if not complexes:
            raise ValueError("at least one complex is needed")
        for index, cells in enumerate(complexes):
            if not np.array_equal(cells.encoding_signs, complexes[0].encoding_signs):
                raise ValueError(
                    f"complex {index} ({cells.name!r}) carries other encodings than "
                    "complex 0; encode all complexes alike"
                )
        depth = max(cells.dim for cells in complexes)
        return cls(
            tuple(_concatenate_rank(complexes, rank) for rank in range(depth + 1)),
            complexes[0].encoding_signs,
            _as_targets(targets, len(complexes)),
            descriptors=concatenate_descriptors([cells.descriptors for cells in complexes]),
        )

    @classmethod
    def concatenate(cls, parts: Sequence["RaggedComplexes"]) -> "RaggedComplexes":
        """One collection after the other.

        Raises ValueError if their encodings or features differ, or only some have targets.
        """
        if not parts:
            raise ValueError("at least one collection is needed")
        depth = max(len(part.ranks) for part in parts)
        padded = [part.to_depth(depth - 1) for part in parts]
        targets = [part.targets for part in parts if part.targets is not None]
        if len(targets) not in (0, len(parts)):
            raise ValueError(f"{len(targets)} of {len(parts)} collections have targets")
        for index, part in enumerate(parts):
            if not np.array_equal(part.encoding_signs, parts[0].encoding_signs):
                raise ValueError(f"collection {index} carries other encodings than collection 0")
            if part.target_rank != parts[0].target_rank:
                raise ValueError(f"collection {index} has targets of other cells than collection 0")
        return cls(
            tuple(
                _concatenate_ragged([part.ranks[rank] for part in padded]) for rank in range(depth)
            ),
            parts[0].encoding_signs,
            np.concatenate(targets) if targets else None,
            parts[0].target_rank,
            concatenate_descriptors([part.descriptors for part in parts]),
            joined_bounds([part.bounds for part in parts], [*map(len, parts)]),
        )

    def to_depth(self, dim: int) -> "RaggedComplexes":
        """The same complexes with empty ranks added up to ``dim``."""
        empty = RaggedRank.bare(
            np.zeros(len(self) + 1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(0, np.int32),
            np.zeros(0, np.int8),
        )
        columns = np.zeros((0, len(self.encoding_signs)), np.float32)
        empty = replace(empty, encodings=columns)
        missing = (empty,) * (dim + 1 - len(self.ranks))
        return replace(self, ranks=self.ranks + missing)


def united_faces(below: RaggedRank, above: RaggedRank) -> Int32[np.ndarray, " face"]:
    """The faces of the cells above, with the cells below of all complexes numbered on."""
    faces_per_complex = np.diff(above.face_offsets[above.offsets])
    shift = np.repeat(below.offsets[:-1], faces_per_complex)
    united: Int32[np.ndarray, " face"] = (above.faces + shift).astype(np.int32)
    return united


def ranges(
    starts: Int[np.ndarray, " range"], stops: Int[np.ndarray, " range"]
) -> tuple[Int64[np.ndarray, " total"], Int64[np.ndarray, " range_plus_1"]]:
    """All integers of ``starts[i]:stops[i]`` for every i, and the offset at which each i begins."""
    starts = np.asarray(starts, np.int64)  # narrower ones would be converted twice below
    lengths = stops - starts
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths), offsets


STRETCH = 4096
"""Complexes that are looked at together where many are."""


def stretches(chosen: Int64[np.ndarray, " chosen"]) -> Iterator[Int64[np.ndarray, " some"]]:
    """The chosen ones, some at a time, so that what is read for them stays small."""
    for start in range(0, len(chosen), STRETCH):
        yield chosen[start : start + STRETCH]


def joined_bounds(
    bounds: Sequence[Float[np.ndarray, "_ side"] | None], counts: Sequence[int]
) -> Float[np.ndarray, "row side"] | None:
    """The bounds of several collections of so many rows; NaN where one has none, None if all."""
    sides = next((own.shape[1] for own in bounds if own is not None), None)
    if sides is None:
        return None
    none = (np.full((count, sides), np.nan, np.float32) for count in counts)
    return np.concatenate([n if own is None else own for n, own in zip(none, bounds, strict=True)])


def _as_targets(
    targets: NDArray[np.floating] | None, count: int
) -> Float[np.ndarray, "complex target"] | None:
    if targets is None:
        return None
    rows = np.asarray(targets)
    rows = narrowed(rows[:, None] if rows.ndim == 1 else rows)
    if len(rows) != count:
        raise ValueError(f"targets have {len(rows)} rows for {count} complexes")
    return rows


def _concatenate_rank(complexes: Sequence[CellComplex], rank: int) -> RaggedRank:
    counts = [cells.num_cells[rank] if rank <= cells.dim else 0 for cells in complexes]
    present = [cells for cells in complexes if rank <= cells.dim]
    boundaries = [cells.boundary(rank) for cells in present]
    _check_columns(complexes, rank)
    degrees = [
        np.diff(b.indptr) if rank else np.zeros(c.num_vertices, np.int64)
        for b, c in zip(boundaries, present, strict=True)
    ]
    nonempty = [cells for cells in present if cells.num_cells[rank]]
    if not nonempty:  # the columns that any of them declares
        nonempty = [max(present, key=lambda cells: cells.features[rank].columns)]
    return RaggedRank(
        _offsets(np.asarray(counts, np.int64)),
        _offsets(np.concatenate(degrees).astype(np.int64)),
        np.concatenate([b.indices for b in boundaries]).astype(np.int32),
        np.concatenate([b.data for b in boundaries]).astype(np.int8),
        np.concatenate([c.features[rank].discrete for c in nonempty]).astype(np.int32),
        np.concatenate([c.features[rank].continuous for c in nonempty]),
        np.concatenate([c.encodings[rank] for c in present]),
        np.concatenate([c.features[rank].signed for c in nonempty]),
    )


def _check_columns(complexes: Sequence[CellComplex], rank: int) -> None:
    """A complex without cells of the rank may lack the columns; any other must have them."""
    first: tuple[int, tuple[int, int, int]] | None = None
    for index, cells in enumerate(complexes):
        if rank > cells.dim or not cells.num_cells[rank]:
            continue
        columns = cells.features[rank].columns
        if first is None:
            first = (index, columns)
        elif columns != first[1]:
            raise ValueError(
                f"complex {index} ({cells.name!r}) has {columns} discrete, continuous and signed "
                f"feature columns at rank {rank}, complex {first[0]} has {first[1]}"
            )


def _concatenate_ragged(parts: Sequence[RaggedRank]) -> RaggedRank:
    nonempty = [part for part in parts if len(part.discrete)]
    nonempty = nonempty or [max(parts, key=lambda part: part.columns)]
    columns = {part.columns for part in nonempty}
    if len(columns) > 1:
        raise ValueError(
            "collections have different numbers of discrete, continuous and signed feature columns "
            f"at one rank: {sorted(columns)}"
        )
    return RaggedRank(
        _offsets(np.concatenate([np.diff(part.offsets) for part in parts])),
        _offsets(np.concatenate([np.diff(part.face_offsets) for part in parts])),
        np.concatenate([part.faces for part in parts], dtype=np.int32),
        np.concatenate([part.signs for part in parts]),
        np.concatenate([part.discrete for part in nonempty], dtype=np.int32),
        np.concatenate([part.continuous for part in nonempty]),
        np.concatenate([part.encodings for part in parts]),
        np.concatenate([part.signed for part in nonempty]),
    )


def _offsets(counts: Int64[np.ndarray, " item"]) -> Int64[np.ndarray, " item_plus_1"]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
