"""What a positional encoding is, and how encodings are put on a complex."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int8
from numpy.typing import NDArray

from cellformer.complexes.cell_complex import SIGN_KINDS, CellComplex
from cellformer.complexes.many.ragged import RaggedComplexes


@dataclass(frozen=True, eq=False)
class EncodedRanks:
    """The encoding vectors of the cells of every rank, and how the sign of each column is free."""

    ranks: tuple[Float32[np.ndarray, "_ encoding"], ...]  # one per rank, (cells_k, encoding)
    signs: Int8[np.ndarray, " encoding"]  # of `SIGN_KINDS`


@runtime_checkable
class Encoding(Protocol):
    """A positional encoding: ``size`` numbers for every cell of every rank.

    Any object of this shape can be given to `encode`; a frozen dataclass is the habit here. One
    that does not depend on all of a complex says by an attribute ``reach`` how much it depends on:
    the cells at most so many steps away, where a step leads from a cell to one of its boundary, of
    whatever rank, or back.
    """

    @property
    def size(self) -> int:
        """The number of columns, ``d_pe`` in the paper."""

    def __call__(self, cells: CellComplex) -> EncodedRanks:
        """The encoding of a complex."""


@runtime_checkable
class CollectiveEncoding(Encoding, Protocol):
    """An encoding that takes many complexes at once, which is faster than one by one."""

    def many(self, complexes: RaggedComplexes) -> EncodedRanks:
        """The rows of all complexes, each with the bits that it has alone."""


def reach_of(encodings: Sequence[Encoding]) -> int:
    """How many steps away the cells are that these encodings of a cell depend on at most.

    Raises ValueError, naming the encoding, where it depends on all of a complex.
    """
    for encoding in encodings:
        if getattr(encoding, "reach", None) is None:
            raise ValueError(f"the encoding {encoding!r} depends on the whole complex")
    return max((int(getattr(encoding, "reach")) for encoding in encodings), default=0)  # noqa: B009


def encode(cells: CellComplex, encodings: Sequence[Encoding] | Encoding) -> CellComplex:
    """The complex carrying these encodings, their columns side by side, in place of any it had.

    Raises ValueError, naming complex, encoding and rank, if an encoding returns arrays of another
    shape than (cells_k, size), a sign kind that does not exist, or a value that is not finite.
    """
    chosen = encodings if isinstance(encodings, Sequence) else (encodings,)
    results = [encoding(cells) for encoding in chosen]
    where = f"complex {cells.name!r}" if cells.name else "complex"
    for encoding, result in zip(chosen, results, strict=True):
        _check(cells.num_cells, encoding, result, where)
    return cells.with_encodings(*_side_by_side(results, cells.num_cells))


def encode_many(
    complexes: RaggedComplexes, encodings: Sequence[Encoding] | Encoding
) -> RaggedComplexes:
    """The collection carrying these encodings: the same as `encode` on each complex.

    Raises ValueError as `encode` does.
    """
    chosen = encodings if isinstance(encodings, Sequence) else (encodings,)
    counts = tuple(len(rank.encodings) for rank in complexes.ranks)
    results = []
    for encoding in chosen:
        if isinstance(encoding, CollectiveEncoding):
            result = encoding.many(complexes)
            _check(counts, encoding, result, "a collection of complexes")
        else:
            result = _one_by_one(complexes, encoding)
        results.append(result)
    encoded_ranks, signs = _side_by_side(results, counts)
    ranks = [
        replace(rank, encodings=rows)
        for rank, rows in zip(complexes.ranks, encoded_ranks, strict=True)
    ]
    return replace(complexes, ranks=tuple(ranks), encoding_signs=signs)


def _one_by_one(complexes: RaggedComplexes, encoding: Encoding) -> EncodedRanks:
    results = []
    for index in range(len(complexes)):
        cells = complexes[index]
        result = encoding(cells)
        _check(cells.num_cells, encoding, result, f"complex {index}")
        results.append(result)
        if not np.array_equal(result.signs, results[0].signs):
            raise ValueError(f"{encoding}: complex {index} has other sign kinds than complex 0")
    if not results:
        empty = np.zeros((0, encoding.size), np.float32)
        return EncodedRanks((empty,) * len(complexes.ranks), np.zeros(encoding.size, np.int8))
    ranks = zip(*(result.ranks for result in results), strict=True)
    return EncodedRanks(tuple(np.concatenate(rows) for rows in ranks), results[0].signs)


def _side_by_side(
    results: Sequence[EncodedRanks], counts: Sequence[int]
) -> tuple[list[NDArray[np.float32]], NDArray[np.int8]]:
    """The columns of several encodings for these numbers of cells, and their sign kinds."""
    ranks = [
        np.concatenate([np.zeros((count, 0), np.float32), *(r.ranks[rank] for r in results)], 1)
        for rank, count in enumerate(counts)
    ]
    return ranks, np.concatenate([np.zeros(0, np.int8), *(result.signs for result in results)])


def encoded(vectors: Sequence[NDArray[np.float64]], size: int, sign: int) -> EncodedRanks:
    """Columns of float64, one array per rank, as an encoding of ``size`` columns.

    Columns beyond ``size`` are dropped, missing ones are zero (the paper, "by adding zero
    vectors").
    """
    ranks = []
    for columns in vectors:
        padded = np.zeros((len(columns), size), np.float32)
        kept = columns[:, :size]
        padded[:, : kept.shape[1]] = kept
        ranks.append(padded)
    return EncodedRanks(tuple(ranks), np.full(size, sign, np.int8))


def check_size(size: int) -> None:
    """Raises ValueError if an encoding would have no column."""
    if size < 1:
        raise ValueError(f"an encoding needs a size of at least 1, got {size}")


def _check(counts: Sequence[int], encoding: Encoding, result: EncodedRanks, where: str) -> None:
    shapes = [rows.shape for rows in result.ranks]
    expected = [(count, encoding.size) for count in counts]
    if shapes != expected:
        raise ValueError(f"{where}: {encoding} returned shapes {shapes}, expected {expected}")
    if result.signs.shape != (encoding.size,) or not set(result.signs.tolist()) <= {*SIGN_KINDS}:
        raise ValueError(
            f"{where}: {encoding} must return {encoding.size} sign kinds, each NO_SIGN, "
            f"SHARED_SIGN, RANK_SIGN or FLIPPING_SIGN, got {result.signs.tolist()}"
        )
    for rank, rows in enumerate(result.ranks):
        if not np.isfinite(rows).all():
            raise ValueError(f"{where}: {encoding} returned a value that is not finite at {rank=}")
