"""Complexes on disk: a folder of plain ``.npy`` arrays and a JSON manifest, memory-mapped.

No pickles, so that a store stays readable for years and opening one runs no code.
"""

import hashlib
import itertools
import json
import os
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank

Meta: TypeAlias = dict[str, Any]
"""What the writer wishes to remember with the arrays; anything that JSON can hold."""

FORMAT_VERSION = 1
MANIFEST = "manifest.json"


class StoreError(ValueError):
    """A store that is missing, incomplete, damaged, or of another format."""


def save_ragged(
    ragged: RaggedComplexes, folder: str | os.PathLike[str], meta: Mapping[str, Any] | None = None
) -> None:
    """Writes a collection to a new folder that appears whole or not at all.

    Raises FileExistsError if the folder exists: nothing is ever overwritten.
    """
    merge_ragged([ragged], folder, meta)


def merge_ragged(
    parts: Sequence[RaggedComplexes],
    folder: str | os.PathLike[str],
    meta: Mapping[str, Any] | None = None,
) -> None:
    """Writes one collection after the other as one store, in the memory of one part.

    The parts may be memory-mapped. Raises FileExistsError if the folder exists, ValueError if
    the parts do not carry the same features, encodings and targets.
    """
    path = Path(folder)
    if path.exists():
        raise FileExistsError(f"{path} exists and is not overwritten; remove it or choose another")
    if not parts:
        raise ValueError("at least one collection is needed")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = unfinished_folder(path)
    unfinished.mkdir()
    try:
        arrays = _write_parts(parts, unfinished)
        manifest = {
            "format": FORMAT_VERSION,
            "complexes": sum(len(part) for part in parts),
            "ranks": max(len(part.ranks) for part in parts),
            "arrays": arrays,
            "target_rank": parts[0].target_rank,
            "meta": dict(meta or {}),
        }
        (unfinished / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        try:
            unfinished.rename(path)
        except OSError as error:
            if path.exists():  # another process was faster
                raise FileExistsError(f"{path} exists and is not overwritten") from error
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def open_ragged(
    folder: str | os.PathLike[str], verify: bool = False
) -> tuple[RaggedComplexes, Meta]:
    """Memory-maps a store; returns the complexes and what was remembered with them.

    The size, type and shape of every array is checked; ``verify`` also reads every byte and
    compares checksums. Raises StoreError, naming the file and what to do.
    """
    path = Path(folder)
    manifest = _read_manifest(path)
    try:
        recorded = manifest["arrays"]
        arrays = {name: _map_array(path, name, recorded[name], verify) for name in recorded}
        ranks = tuple(
            RaggedRank(*(arrays[f"rank{rank}_{name}"] for name in RaggedRank.ARRAYS))
            for rank in range(manifest["ranks"])
        )
        ragged = RaggedComplexes(
            ranks,
            arrays["encoding_signs"],
            arrays.get("targets"),
            manifest.get("target_rank"),
            Descriptors(arrays["descriptor_counts"], arrays["descriptor_values"])
            if "descriptor_counts" in arrays
            else None,
        )
        meta: Meta = manifest["meta"]
    except KeyError as error:
        raise StoreError(
            f"{path / MANIFEST} has no entry {error}; delete the folder {path} and make it again"
        ) from None
    if len(ragged) != manifest["complexes"]:
        raise StoreError(
            f"{path} holds {len(ragged)} complexes where its manifest says "
            f"{manifest['complexes']}; delete the folder and make it again"
        )
    return ragged, meta


def folder_of(ragged: RaggedComplexes) -> Path | None:
    """The store that all cells are memory-mapped from; None where any array lies in memory.

    It lets another process open the same pages instead of receiving a copy.
    """
    folder: Path | None = None
    for number, rank in enumerate(ragged.ranks):
        for name in RaggedRank.ARRAYS:
            array = getattr(rank, name)
            if not isinstance(array, np.memmap) or array.filename is None:
                return None
            file = Path(os.fspath(array.filename))
            if file.name != _file_name(f"rank{number}_{name}") or folder not in (None, file.parent):
                return None
            folder = file.parent
    return folder


def unfinished_folder(path: Path) -> Path:
    """A hidden sibling of ``path``, on the same file system, to be renamed when complete."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.tmp")


def _write_parts(parts: Sequence[RaggedComplexes], folder: Path) -> dict[str, dict[str, Any]]:
    """Writes every array; returns what the manifest records of each."""
    signs = parts[0].encoding_signs
    for index, part in enumerate(parts):
        if not np.array_equal(part.encoding_signs, signs):
            raise ValueError(f"part {index} carries other encodings than part 0")
        if (part.targets is None) != (parts[0].targets is None):
            raise ValueError(f"part {index} has targets where part 0 has none, or the reverse")
        if part.target_rank != parts[0].target_rank:
            raise ValueError(f"part {index} has targets of other cells than part 0")
        if (part.descriptors is None) != (parts[0].descriptors is None):
            raise ValueError(f"part {index} has descriptors where part 0 has none, or the reverse")
    depth = max(len(part.ranks) for part in parts)
    padded = [part.to_depth(depth - 1) for part in parts]
    written = {"encoding_signs": _write(folder, "encoding_signs", [signs])}
    if parts[0].targets is not None:
        written["targets"] = _write(
            folder, "targets", [part.targets for part in parts if part.targets is not None]
        )
    described = [part.descriptors for part in parts if part.descriptors is not None]
    for name in ("counts", "values") if described else ():
        array = f"descriptor_{name}"
        written[array] = _write(folder, array, [getattr(each, name) for each in described])
    for number in range(depth):
        ranks = [part.ranks[number] for part in padded]
        for name in RaggedRank.ARRAYS:
            chunks = _CHUNKS[name](ranks, name)
            written[f"rank{number}_{name}"] = _write(folder, f"rank{number}_{name}", chunks)
    return written


Chunks: TypeAlias = list[NDArray[Any]]


def _offset_chunks(ranks: Sequence[RaggedRank], name: str) -> Chunks:
    """Offsets that go on where the part before ended."""
    parts: Chunks = [getattr(rank, name) for rank in ranks]
    starts = [0, *itertools.accumulate(int(part[-1]) for part in parts)]
    shifted = [part[1:] + start for part, start in zip(parts, starts, strict=False)]
    return [np.zeros(1, np.int64), *shifted]


def _row_chunks(ranks: Sequence[RaggedRank], name: str) -> Chunks:
    """The rows of each part; a part without cells may lack the columns."""
    parts: Chunks = [getattr(rank, name) for rank in ranks]
    return [part for part in parts if len(part)] or parts[:1]


_CHUNKS: dict[str, Callable[[Sequence[RaggedRank], str], Chunks]] = {
    "offsets": _offset_chunks,
    "face_offsets": _offset_chunks,
    "faces": _row_chunks,
    "signs": _row_chunks,
    "discrete": _row_chunks,
    "continuous": _row_chunks,
    "encodings": _row_chunks,
}


def _write(folder: Path, name: str, chunks: Chunks) -> dict[str, Any]:
    columns = chunks[0].shape[1:]
    for index, chunk in enumerate(chunks):
        if chunk.shape[1:] != columns:
            raise ValueError(
                f"{name}: part {index} has rows of shape {chunk.shape[1:]}, part 0 of {columns}; "
                "all complexes must carry the same features and encodings"
            )
    shape = (sum(len(chunk) for chunk in chunks), *columns)
    dtype = chunks[0].dtype
    file = folder / _file_name(name)
    digest = hashlib.sha256()
    with file.open("wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": dtype.str, "fortran_order": False, "shape": shape}
        )
        for chunk in chunks:
            data = np.ascontiguousarray(chunk, dtype).tobytes()
            digest.update(data)
            stream.write(data)
    return {
        "dtype": dtype.str,
        "shape": list(shape),
        "bytes": file.stat().st_size,
        "sha256": digest.hexdigest(),
    }


def _file_name(name: str) -> str:
    return f"{name}.npy"


def _read_manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    if not path.is_dir():
        raise StoreError(f"there is no store of complexes at {path}; prepare the data first")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"{path} is not a store of complexes: it has no {MANIFEST}") from None
    except ValueError as error:
        raise StoreError(
            f"{file} is damaged ({error}); delete the folder {path} and make it again"
        ) from None
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if version != FORMAT_VERSION:
        raise StoreError(
            f"{file} has format {version}, this version reads {FORMAT_VERSION}; delete the folder "
            f"{path} and make it again, or use the version of cellformer that wrote it"
        )
    return dict(manifest)


def _map_array(path: Path, name: str, recorded: dict[str, Any], verify: bool) -> NDArray[Any]:
    file = path / _file_name(name)
    again = f"delete the folder {path} and make it again"
    if not file.is_file():
        raise StoreError(f"{file} is missing; {again}")
    size = file.stat().st_size
    if size != recorded["bytes"]:
        raise StoreError(f"{file} has {size} bytes instead of {recorded['bytes']}; {again}")
    try:
        array: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise StoreError(f"{file} is damaged ({error}); {again}") from None
    if array.dtype.str != recorded["dtype"] or list(array.shape) != recorded["shape"]:
        raise StoreError(
            f"{file} holds {array.dtype.str} {list(array.shape)} instead of "
            f"{recorded['dtype']} {recorded['shape']}; {again}"
        )
    if verify and hashlib.sha256(array.tobytes()).hexdigest() != recorded["sha256"]:
        raise StoreError(f"{file} is damaged (its checksum differs); {again}")
    return array
