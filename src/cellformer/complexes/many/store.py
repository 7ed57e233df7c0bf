"""Complexes on disk: a folder of plain ``.npy`` arrays and a JSON manifest, memory-mapped.

No pickles, so that a store stays readable for years and opening one runs no code.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.archives import one_line
from cellformer.basics.causes import raise_of_process, with_files
from cellformer.basics.decoding import decoded
from cellformer.basics.owners import unfinished
from cellformer.basics.sealed import FaultError, read_sealed, sealed
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.many.consistency import fault_of
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.many.recorded import Kinds, PackedArrays, StoredArray
from cellformer.complexes.many.writing import StorePart, file_name, part_of, write_parts

Meta: TypeAlias = dict[str, Any]
"""What the writer wishes to remember with the arrays; anything that JSON can hold."""

FORMAT_VERSION = 1
MANIFEST = "manifest.json"


class StoreError(FaultError):
    """A store that is missing, incomplete, damaged, or of another format."""


@dataclass(frozen=True)
class Manifest:
    """What is in a store, beside what its writer wishes to remember."""

    format: int
    complexes: int
    ranks: int
    arrays: Mapping[str, StoredArray]
    target_rank: int | None


_verified: dict[Path, str] = {}  # the files of each store, as they were when they were verified


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
    """Writes one collection after the other as one store.

    The parts may be memory-mapped. Raises FileExistsError if the folder exists, ValueError if
    the parts do not carry the same features, encodings and targets.
    """
    _merge([part_of(part) for part in parts], folder, meta)


def merge_stores(
    stores: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    meta: Mapping[str, Any] | None = None,
) -> None:
    """`merge_ragged` of the collections in these folders, however many they are.

    One file of one of them is open at a time, and little of it is in memory. Raises StoreError
    where one is missing or damaged.
    """
    _merge([_stored_part(Path(store)) for store in stores], folder, meta)


def _merge(
    parts: Sequence[StorePart], folder: str | os.PathLike[str], meta: Mapping[str, Any] | None
) -> None:
    path = Path(folder)
    if path.exists():
        raise FileExistsError(f"{path} exists and is not overwritten; remove it or choose another")
    if not parts:
        raise ValueError("at least one collection is needed")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = unfinished_folder(path)
    unfinished.mkdir()
    try:
        manifest = {
            "format": FORMAT_VERSION,
            "complexes": sum(part.complexes for part in parts),
            "ranks": max(part.ranks for part in parts),
            "arrays": write_parts(parts, unfinished),
            "target_rank": parts[0].target_rank,
            "meta": dict(meta or {}),
        }
        text = json.dumps(sealed(manifest), indent=1)
        (unfinished / MANIFEST).write_text(text, encoding="utf-8")
        try:
            unfinished.rename(path)
        except OSError as error:
            if path.exists():  # another process was faster
                raise FileExistsError(f"{path} exists and is not overwritten") from error
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def open_ragged(
    folder: str | os.PathLike[str], verify: bool = True
) -> tuple[RaggedComplexes, Meta]:
    """Memory-maps a store; returns the complexes and what was remembered with them.

    The size, type and shape of every array is checked. Unless ``verify`` is off, every byte is
    compared with its checksum and every index with what it points at, once in a process for as
    long as the files stay as they are. Raises StoreError, naming the file and what to do.
    """
    path = Path(folder)
    manifest, meta = _read_manifest(path)
    state = _state(path)
    recorded = manifest.arrays
    arrays = {name: _map_array(path, name, recorded[name]) for name in recorded}
    arrays = _absent_signed(manifest) | arrays
    try:
        ragged = RaggedComplexes(
            tuple(
                RaggedRank(*(arrays[f"rank{rank}_{name}"] for name in RaggedRank.ARRAYS))
                for rank in range(manifest.ranks)
            ),
            arrays["encoding_signs"],
            arrays.get("targets"),
            manifest.target_rank,
            Descriptors(arrays["descriptor_counts"], arrays["descriptor_values"])
            if "descriptor_counts" in arrays
            else None,
        )
    except KeyError as error:
        raise _incomplete(path, error) from None
    if not ragged.ranks or len(ragged) != manifest.complexes:
        raise StoreError(
            f"{path} holds {len(ragged) if ragged.ranks else 0} complexes where its manifest says "
            f"{manifest.complexes}",
            _again(path),
        )
    place = path.resolve()
    if verify and _verified.get(place) != state:
        for name in recorded:
            _check_bytes(path, name, recorded[name])
        fault = fault_of(ragged)
        if fault is not None:
            raise StoreError(f"{path / file_name(fault[0])} is damaged: {fault[1]}", _again(path))
        _verified[place] = state
    return ragged, meta


def folder_of(ragged: RaggedComplexes) -> Path | None:
    """The store that all cells are memory-mapped from; None where any array lies in memory.

    It lets another process open the same pages instead of receiving a copy.
    """
    folder: Path | None = None
    for number, rank in enumerate(ragged.ranks):
        for name in RaggedRank.ARRAYS:
            array = getattr(rank, name)
            if name == "signed" and not array.shape[1]:
                continue  # nothing to send, and a store may lack it
            if not isinstance(array, np.memmap) or array.filename is None:
                return None
            file = Path(os.fspath(array.filename))
            if file.name != file_name(f"rank{number}_{name}") or folder not in (None, file.parent):
                return None
            folder = file.parent
    return folder


def unfinished_folder(path: Path) -> Path:
    """A hidden sibling of ``path``, on the same file system, to be renamed when complete."""
    return unfinished(path)


def _stored_part(path: Path) -> StorePart:
    """A store whose arrays are mapped, and compared with their checksums, when they are read."""
    manifest, _ = _read_manifest(path)
    try:
        recorded = PackedArrays.of(manifest.arrays)
    except ValueError as error:
        raise StoreError(f"{path / MANIFEST}: {error}", _again(path)) from None
    absent = _absent_signed(manifest)

    def read(name: str) -> NDArray[Any]:
        if name in absent:
            return absent[name]
        array = _map_array(path, name, recorded[name])
        _check_bytes(path, name, recorded[name])
        return array

    return StorePart(
        manifest.complexes, manifest.ranks, manifest.target_rank, Kinds(recorded, absent), read
    )


def _absent_signed(manifest: Manifest) -> dict[str, NDArray[Any]]:
    """No columns for each rank of a store from before there were signed features."""
    return {
        f"rank{rank}_signed": np.zeros((known.shape[0], 0), np.float32)
        for rank in range(manifest.ranks)
        if f"rank{rank}_signed" not in manifest.arrays
        and (known := manifest.arrays.get(f"rank{rank}_discrete")) is not None
    }


def _again(path: Path) -> str:
    return f"delete the folder {path} and make it again"


def _incomplete(path: Path, missing: KeyError) -> StoreError:
    return StoreError(f"{path / MANIFEST} has no entry {missing}", _again(path))


def _read_manifest(path: Path) -> tuple[Manifest, Meta]:
    file = path / MANIFEST
    if not path.is_dir():
        raise StoreError(f"there is no store of complexes at {path}", "prepare the data first")
    try:
        values = read_sealed(file)
    except FileNotFoundError:
        raise StoreError(
            f"{path} is not a store of complexes: it has no {MANIFEST}", "prepare the data first"
        ) from None
    except FaultError as error:
        raise StoreError(error.fault, _again(path)) from None
    version = values.get("format") if isinstance(values, dict) else None
    if version != FORMAT_VERSION:
        raise StoreError(
            f"{file} has format {version}, this version reads {FORMAT_VERSION}",
            f"{_again(path)}, or use the version of cellformer that wrote it",
        )
    try:
        meta = values.pop("meta")
        manifest = decoded(Manifest, {"target_rank": None, **values}, str(file))
        for each in manifest.arrays.values():
            np.dtype(each.dtype)
    except KeyError as error:
        raise _incomplete(path, error) from None
    except (TypeError, ValueError) as error:
        raise StoreError(str(error), _again(path)) from None
    if not isinstance(meta, dict):
        raise StoreError(f"{file}: meta must be a mapping, got {meta!r}", _again(path))
    return manifest, meta


def _state(path: Path) -> str:
    """What tells whether the files of a store are still those that were there."""
    try:
        files = sorted((entry.name, entry.stat()) for entry in os.scandir(path))
    except OSError as error:
        raise_of_process(error)
        raise StoreError(f"{path} cannot be read ({error})", _again(path)) from None
    told = [(n, e.st_ino, e.st_size, e.st_mtime_ns, e.st_ctime_ns) for n, e in files]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _map_array(path: Path, name: str, recorded: StoredArray) -> NDArray[Any]:
    file = path / file_name(name)
    if not file.is_file():
        raise StoreError(f"{file} is missing", _again(path))
    size = file.stat().st_size
    if size != recorded.bytes:
        raise StoreError(f"{file} has {size} bytes instead of {recorded.bytes}", _again(path))
    try:
        array: NDArray[Any] = with_files(lambda: np.load(file, mmap_mode="r", allow_pickle=False))
        found, row_by_row = (array.dtype.str, array.shape), array.flags.c_contiguous
    except Exception as error:  # a damaged header raises nearly any kind
        raise_of_process(error)
        raise StoreError(f"{file} is damaged ({one_line(error)})", _again(path)) from None
    if found != (recorded.dtype, recorded.shape) or not row_by_row:
        raise StoreError(
            f"{file} holds {found[0]} {list(found[1])} instead of "
            f"{recorded.dtype} {list(recorded.shape)}",
            _again(path),
        )
    return array


def _check_bytes(path: Path, name: str, recorded: StoredArray) -> None:
    """Reads a file past its header, without mapping it; raises StoreError if it was changed."""
    file = path / file_name(name)
    try:
        with file.open("rb") as stream:
            stream.seek(recorded.start)
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:  # of the disk
        raise_of_process(error)
        raise StoreError(f"{file} cannot be read ({error})", _again(path)) from None
    if found != recorded.sha256:
        raise StoreError(f"{file} is damaged (its checksum differs)", _again(path))
