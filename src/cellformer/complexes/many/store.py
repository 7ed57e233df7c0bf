"""Complexes on disk: a folder of plain ``.npy`` arrays and a JSON manifest, memory-mapped.

No pickles, so that a store stays readable for years and opening one runs no code.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.archives import one_line
from cellformer.basics.causes import raise_of_process, with_files
from cellformer.basics.owners import unfinished
from cellformer.basics.sealed import sha256_of, sha256_of_stretch
from cellformer.basics.urls import is_url
from cellformer.basics.verified import (
    REMEMBERED_FROM,
    VerifiedPieces,
    known_as_verified,
    verified_once,
)
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.many.consistency import fault_of
from cellformer.complexes.many.growing import GrowingStore
from cellformer.complexes.many.late_parts import DAMAGED, LateStore
from cellformer.complexes.many.manifest import (
    Manifest,
    Meta,
    StoredArray,
    again,
    incomplete,
    read_manifest,
)
from cellformer.complexes.many.parts import PARTS, PartOfArray, StoreError, StorePart, read_parts
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.many.remote import open_remote, url_of
from cellformer.complexes.many.writing import file_name

TICK = 0.05
"""Seconds after which a file system gives another time to what is written."""

_verified: dict[Path, str] = {}  # the files of each store, as they were when they were verified


def save_ragged(
    ragged: RaggedComplexes, folder: str | os.PathLike[str], meta: Mapping[str, Any] | None = None
) -> None:
    """Writes a collection to a new folder that appears whole or not at all.

    Raises FileExistsError if the folder exists: nothing is ever overwritten.
    """
    merge_ragged([ragged], folder, meta)


def merge_ragged(
    parts: Iterable[RaggedComplexes],
    folder: str | os.PathLike[str],
    meta: Mapping[str, Any] | None = None,
) -> None:
    """Writes one collection after the other as one store.

    The parts may be memory-mapped. Raises FileExistsError if the folder exists, ValueError if
    the parts do not carry the same features, encodings and targets.
    """
    path = Path(folder)
    if path.exists():
        raise FileExistsError(f"{path} exists and is not overwritten; remove it or choose another")
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = unfinished(path)
    try:
        store = GrowingStore(hidden)
        for part in parts:
            store.append(part)
        store.finish(path, meta or {})
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def open_ragged(
    folder: str | os.PathLike[str], verify: bool | Literal["late"] = True
) -> tuple[RaggedComplexes, Meta]:
    """Memory-maps a store; returns the complexes and what was remembered with them.

    The size, type and shape of every array is checked. Unless ``verify`` is off, every byte is
    compared with its checksum and every index with what it points at, once in a process, or once
    on a machine where that takes long (see `verified_once`), for as long as the files stay as they
    are. Raises StoreError, naming the file and what to do.

    With ``verify="late"`` a store of 64 MiB or more is opened at once: each of its parts is
    compared when some of it is first read, which raises the same StoreError. What has been found
    damaged so is remembered in the folder, and looked for when it is opened again. A ``folder`` may
    also be a URL; see `open_remote`, whose parts are always compared.
    """
    if isinstance(folder, str) and is_url(folder):
        return open_remote(folder)
    path = Path(folder)
    manifest, meta = read_manifest(path)
    recorded = manifest.arrays
    size = sum(each.bytes for each in recorded.values())
    state = _state(path, size) if verify else ""
    arrays = {name: _map_array(path, name, recorded[name]) for name in recorded}
    arrays = _absent_signed(manifest) | arrays
    place, damaged = path.resolve(), (path / DAMAGED).exists()
    known = not verify or (_verified.get(place) == state and not damaged)
    late = verify == "late" and size >= REMEMBERED_FROM and manifest.parts is not None
    try:
        if late and not (known or damaged or known_as_verified(place, state)):
            store = LateStore(path, manifest, arrays, VerifiedPieces(place, state))
            return _counted(path, manifest, store.complexes()), meta
        ragged = complexes_of(arrays, manifest.ranks, manifest.target_rank)
    except KeyError as error:
        raise incomplete(path, error) from None
    _counted(path, manifest, ragged)
    if not known:
        with verified_once(place, state, size) as needed:
            if needed or damaged:
                _check_bytes(path, manifest)
                _check_indices(path, ragged)
        _verified[place] = state
        with suppress(OSError):
            (path / DAMAGED).unlink(missing_ok=True)
    return ragged, meta


def _counted(path: Path, manifest: Manifest, ragged: RaggedComplexes) -> RaggedComplexes:
    """The same; raises StoreError where it holds another number of complexes than it should."""
    if not ragged.ranks or len(ragged) != manifest.complexes:
        raise StoreError(
            f"{path} holds {len(ragged) if ragged.ranks else 0} complexes where its manifest says "
            f"{manifest.complexes}",
            again(path),
        )
    return ragged


def complexes_of(
    arrays: Mapping[str, NDArray[Any]], ranks: int, target_rank: int | None = None
) -> RaggedComplexes:
    """A collection from its arrays by their names in a store; raises KeyError for a missing one."""
    return RaggedComplexes(
        tuple(
            RaggedRank(*(arrays[f"rank{rank}_{name}"] for name in RaggedRank.ARRAYS))
            for rank in range(ranks)
        ),
        arrays["encoding_signs"],
        arrays.get("targets"),
        target_rank,
        Descriptors(arrays["descriptor_counts"], arrays["descriptor_values"])
        if "descriptor_counts" in arrays
        else None,
    )


def place_of(ragged: RaggedComplexes) -> str | None:
    """What `open_ragged` finds all cells at, a folder or a URL, of complexes that lie there."""
    folder = folder_of(ragged)
    return url_of(ragged) if folder is None else str(folder)


def folder_of(ragged: RaggedComplexes) -> Path | None:
    """The store that all cells are memory-mapped from; None where any array lies in memory.

    It lets another process open the same pages instead of receiving a copy.
    """
    folder: Path | None = None
    for number, rank in enumerate(ragged.ranks):
        for name in RaggedRank.ARRAYS:
            array = rank.lying(name)
            if name == "signed" and not array.shape[1]:
                continue  # nothing to send, and a store may lack it
            if not isinstance(array, np.memmap) or array.filename is None:
                return None
            file = Path(os.fspath(array.filename))
            if file.name != file_name(f"rank{number}_{name}") or folder not in (None, file.parent):
                return None
            folder = file.parent
    return folder


def is_late(ragged: RaggedComplexes) -> bool:
    """Whether some of it may still have to be compared with its checksums."""
    return any(each.is_late for each in (*ragged.ranks, ragged.descriptors) if each is not None)


def _absent_signed(manifest: Manifest) -> dict[str, NDArray[Any]]:
    """No columns for each rank of a store from before there were signed features."""
    return {
        f"rank{rank}_signed": np.zeros((known.shape[0], 0), np.float32)
        for rank in range(manifest.ranks)
        if f"rank{rank}_signed" not in manifest.arrays
        and (known := manifest.arrays.get(f"rank{rank}_discrete")) is not None
    }


def _state(path: Path, size: int) -> str:
    """What tells whether the files of a store are still those that were there.

    What was written a moment ago could be written again without another time: where others will
    rely on it, which they do for large stores, that moment is waited for.
    """
    found = _files(path)
    newest = max((each.st_ctime_ns for each in found.values()), default=0)
    if size >= REMEMBERED_FROM and time.time_ns() - newest < 1e9 * TICK:
        time.sleep(TICK)
        found = _files(path)
    told = [
        (name, e.st_dev, e.st_ino, e.st_size, e.st_mtime_ns, e.st_ctime_ns)
        for name, e in sorted(found.items())
    ]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _files(path: Path) -> dict[str, os.stat_result]:
    try:
        entries = (entry for entry in os.scandir(path) if entry.name != DAMAGED)
        return {entry.name: entry.stat() for entry in entries}
    except OSError as error:
        raise_of_process(error)
        raise StoreError(f"{path} cannot be read ({error})", again(path)) from None


def _map_array(path: Path, name: str, recorded: StoredArray) -> NDArray[Any]:
    file = path / file_name(name)
    if not file.is_file():
        raise StoreError(f"{file} is missing", again(path))
    size = file.stat().st_size
    if size != recorded.bytes:
        raise StoreError(f"{file} has {size} bytes instead of {recorded.bytes}", again(path))
    try:
        array: np.memmap[Any, Any] = with_files(
            lambda: np.load(file, mmap_mode="r", allow_pickle=False)
        )
        found, row_by_row = (array.dtype.str, array.shape), array.flags.c_contiguous
        begin = array.offset  # as the file tells it, which no checksum is of
    except Exception as error:  # a damaged header raises nearly any kind
        raise_of_process(error)
        raise StoreError(f"{file} is damaged ({one_line(error)})", again(path)) from None
    if found != (recorded.dtype, recorded.shape) or not row_by_row:
        raise StoreError(
            f"{file} holds {found[0]} {list(found[1])} instead of "
            f"{recorded.dtype} {list(recorded.shape)}",
            again(path),
        )
    if begin != recorded.start:
        raise StoreError(f"{file} is damaged (its numbers begin elsewhere)", again(path))
    return array


def _check_bytes(path: Path, manifest: Manifest) -> None:
    """Reads all files past their headers, without mapping them; raises StoreError for a change."""
    at = {name: each.start for name, each in manifest.arrays.items()}
    try:
        if manifest.parts is not None and sha256_of(path / PARTS) != manifest.parts:
            raise StoreError(f"{path / PARTS} is damaged (its checksum differs)", again(path))
        for number, part in enumerate(_parts(path, manifest)):
            for name, entry in part.arrays.items():
                file = path / file_name(name)
                if sha256_of_stretch(file, at[name], entry.bytes) != entry.sha256:
                    where = "" if manifest.parts is None else f" in part {number}"
                    raise StoreError(
                        f"{file} is damaged (its checksum differs{where})", again(path)
                    )
                at[name] += entry.bytes
    except OSError as error:  # of the disk; it names the file
        raise_of_process(error)
        raise StoreError(f"{path} cannot be read ({error})", again(path)) from None
    for name, each in manifest.arrays.items():
        if at[name] != each.bytes:
            raise StoreError(f"{path / PARTS} tells of other parts of {name}", again(path))


def _parts(path: Path, manifest: Manifest) -> Iterable[StorePart]:
    """Those of a store; one of all complexes where no others are recorded."""
    if manifest.parts is not None:
        return read_parts(path)
    arrays = {
        name: PartOfArray(each.dtype, each.shape[1:], each.shape[0], each.sha256 or "")
        for name, each in manifest.arrays.items()
    }
    return [StorePart(manifest.complexes, manifest.ranks, manifest.target_rank, arrays)]


def _check_indices(path: Path, ragged: RaggedComplexes) -> None:
    fault = fault_of(ragged)
    if fault is not None:
        raise StoreError(f"{path / file_name(fault[0])} is damaged: {fault[1]}", again(path))
