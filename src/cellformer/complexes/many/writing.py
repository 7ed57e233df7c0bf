"""The arrays of a store: their names, their types on disk, and how they are written."""

import hashlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank

CHUNK_BYTES = 4_000_000
HEADER = 128
"""Bytes of a file before its numbers: what NumPy writes, as long for every array of ours."""
NARROW = {"faces": (np.int8, np.int16, np.int32), "discrete": (np.int8, np.int16, np.int32),
          "face_offsets": (np.int32, np.int64)}  # fmt: skip
"""Arrays of a rank that take the first of these types that holds them. They are signed, so that
differences of what is read do not wrap."""

Array: TypeAlias = NDArray[Any]


def arrays_of(ragged: RaggedComplexes) -> dict[str, Array]:
    """All arrays of a collection by their names in a store."""
    arrays: dict[str, Array] = {"encoding_signs": ragged.encoding_signs}
    if ragged.targets is not None:
        arrays["targets"] = ragged.targets
    if ragged.descriptors is not None:
        arrays["descriptor_counts"] = ragged.descriptors.counts
        arrays["descriptor_values"] = ragged.descriptors.values
    for number, rank in enumerate(ragged.ranks):
        for name in RaggedRank.ARRAYS:
            arrays[f"rank{number}_{name}"] = getattr(rank, name)
    return arrays


def kind_of(name: str) -> str:
    """What an array of a rank is, whatever the rank; other names as they are."""
    return name.partition("_")[2] if name.startswith("rank") else name


def file_name(name: str) -> str:
    """Of an array."""
    return f"{name}.npy"


def stored_type(name: str, array: Array, shift: int = 0) -> np.dtype[Any]:
    """The narrowest type for an array of this name, plus ``shift``, on disk; its own for most."""
    choices = NARROW.get(kind_of(name))
    if choices is None or array.dtype.kind not in "iu":
        return array.dtype
    low, high = (int(array.min()) + shift, int(array.max()) + shift) if array.size else (0, 0)
    for each in choices:
        limits = np.iinfo(each)
        if limits.min <= low and high <= limits.max:
            return np.dtype(each)
    return array.dtype


def header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The bytes of a file before its numbers."""
    stream = BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": dtype.str, "fortran_order": False, "shape": shape}
    )
    made = stream.getvalue()
    if len(made) != HEADER:
        raise ValueError(f"an array of {dtype.str} {list(shape)} cannot be stored")
    return made


def write_rows(file: Path, place: int, rows: Array, shift: int, dtype: np.dtype[Any]) -> str:
    """Writes rows, plus ``shift``, from a byte of a file on; the SHA-256 of what was written.

    A few megabytes of them are copied at a time.
    """
    digest = hashlib.sha256()
    with file.open("r+b") as stream:
        stream.seek(place)
        for data in encoded(rows, shift, dtype):
            digest.update(data)
            stream.write(data)
    return digest.hexdigest()


def encoded(rows: Array, shift: int, dtype: np.dtype[Any]) -> Iterator[bytes]:
    """The bytes of rows, plus ``shift``, as a file holds them, a few megabytes at a time."""
    for chunk in chunks(rows):
        yield np.ascontiguousarray(chunk + shift if shift else chunk, dtype).tobytes()


def chunks(rows: Array) -> Iterator[Array]:
    """Some rows at a time."""
    step = max(1, CHUNK_BYTES // max(1, rows.itemsize * int(np.prod(rows.shape[1:]))))
    for start in range(0, len(rows), step):
        yield rows[start : start + step]
