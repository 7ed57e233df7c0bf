"""The arrays of a store, written from one collection of complexes after the other.

One array of one collection is open at a time, and a few megabytes of it are in memory.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank

CHUNK_BYTES = 4_000_000
OFFSETS = ("offsets", "face_offsets")  # of a rank: they go on where the part before ended

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ArrayKind:
    """What is known of an array without reading it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, eq=False)
class StorePart:
    """A collection of complexes whose arrays can be read one by one."""

    complexes: int
    ranks: int
    target_rank: int | None
    kinds: Mapping[str, ArrayKind]  # of the arrays it has, by their names in a store
    read: Callable[[str], Array]


def part_of(ragged: RaggedComplexes) -> StorePart:
    """A collection that is open already."""
    arrays: dict[str, Array] = {"encoding_signs": ragged.encoding_signs}
    if ragged.targets is not None:
        arrays["targets"] = ragged.targets
    if ragged.descriptors is not None:
        arrays["descriptor_counts"] = ragged.descriptors.counts
        arrays["descriptor_values"] = ragged.descriptors.values
    for number, rank in enumerate(ragged.ranks):
        for name in RaggedRank.ARRAYS:
            arrays[f"rank{number}_{name}"] = getattr(rank, name)
    kinds = {name: ArrayKind(array.shape, array.dtype) for name, array in arrays.items()}
    return StorePart(len(ragged), len(ragged.ranks), ragged.target_rank, kinds, arrays.__getitem__)


def write_parts(parts: Sequence[StorePart], folder: Path) -> dict[str, dict[str, Any]]:
    """Writes the arrays of all parts together; returns what a manifest records of each.

    Raises ValueError if the parts do not carry the same features, encodings and targets.
    """
    _check_alike(parts)
    written = {"encoding_signs": _write(folder, "encoding_signs", parts[:1])}
    for name in ("targets", "descriptor_counts", "descriptor_values"):
        if name in parts[0].kinds:
            written[name] = _write(folder, name, parts)
    padded = _to_one_depth(parts)
    for number in range(max(part.ranks for part in parts)):
        for name in RaggedRank.ARRAYS:
            array = f"rank{number}_{name}"
            written[array] = _write(folder, array, padded, offsets=name in OFFSETS)
    return written


def file_name(name: str) -> str:
    """Of an array."""
    return f"{name}.npy"


def _check_alike(parts: Sequence[StorePart]) -> None:
    signs = parts[0].read("encoding_signs")
    for index, part in enumerate(parts):
        if not np.array_equal(part.read("encoding_signs"), signs):
            raise ValueError(f"part {index} carries other encodings than part 0")
        for name, what in (("targets", "targets"), ("descriptor_counts", "descriptors")):
            if (name in part.kinds) != (name in parts[0].kinds):
                raise ValueError(f"part {index} has {what} where part 0 has none, or the reverse")
        if part.target_rank != parts[0].target_rank:
            raise ValueError(f"part {index} has targets of other cells than part 0")


def _to_one_depth(parts: Sequence[StorePart]) -> Sequence[StorePart]:
    """The parts, those with fewer ranks with empty ones added."""
    depth = max(part.ranks for part in parts)
    return [_deepened(part, depth) if part.ranks < depth else part for part in parts]


def _deepened(part: StorePart, depth: int) -> StorePart:
    encodings = part.kinds["encoding_signs"].shape[0]
    empty: dict[str, Array] = {
        "offsets": np.zeros(part.complexes + 1, np.int64),
        "face_offsets": np.zeros(1, np.int64),
        "faces": np.zeros(0, np.int32),
        "signs": np.zeros(0, np.int8),
        "discrete": np.zeros((0, 0), np.int32),
        "continuous": np.zeros((0, 0), np.float32),
        "encodings": np.zeros((0, encodings), np.float32),
        "signed": np.zeros((0, 0), np.float32),
    }
    added = {
        f"rank{number}_{name}": array
        for number in range(part.ranks, depth)
        for name, array in empty.items()
    }
    kinds = {name: ArrayKind(array.shape, array.dtype) for name, array in added.items()}

    def read(name: str) -> Array:
        return added[name] if name in added else part.read(name)

    return StorePart(part.complexes, depth, part.target_rank, {**part.kinds, **kinds}, read)


def _write(
    folder: Path, name: str, parts: Sequence[StorePart], offsets: bool = False
) -> dict[str, Any]:
    """Writes one array of all parts; what a manifest records of it."""
    kinds = [part.kinds[name] for part in parts]
    chosen = list(range(len(parts)))
    if not offsets:  # a part without rows may lack the columns
        chosen = [number for number in chosen if kinds[number].shape[0]] or [0]
    first = kinds[chosen[0]]
    for number in chosen:
        if kinds[number].shape[1:] != first.shape[1:]:
            raise ValueError(
                f"{name}: part {number} has rows of shape {kinds[number].shape[1:]}, part "
                f"{chosen[0]} of {first.shape[1:]}; all complexes must carry the same features "
                "and encodings"
            )
    rows = sum(kinds[number].shape[0] - offsets for number in chosen) + offsets
    shape = (rows, *first.shape[1:])
    file = folder / file_name(name)
    digest = hashlib.sha256()
    with file.open("wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": first.dtype.str, "fortran_order": False, "shape": shape}
        )
        for chunk in _chunks(name, [parts[number] for number in chosen], offsets):
            data = np.ascontiguousarray(chunk, first.dtype).tobytes()
            digest.update(data)
            stream.write(data)
    return {
        "dtype": first.dtype.str,
        "shape": list(shape),
        "bytes": file.stat().st_size,
        "sha256": digest.hexdigest(),
    }


def _chunks(name: str, parts: Sequence[StorePart], offsets: bool) -> Iterator[Array]:
    """The rows of one array of all parts, some at a time."""
    end = 0
    if offsets:
        yield np.zeros(1, np.int64)
    for part in parts:
        array = part.read(name)
        rows = array[1:] if offsets else array
        step = max(1, CHUNK_BYTES // max(1, array.itemsize * int(np.prod(array.shape[1:]))))
        for start in range(0, len(rows), step):
            yield rows[start : start + step] + end if offsets else rows[start : start + step]
        end += int(array[-1]) if offsets else 0
        del array, rows  # a mapped file is closed before the next one is opened
