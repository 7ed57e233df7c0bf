"""Complexes on disk: a folder of plain ``.npy`` arrays and a JSON manifest, memory-mapped.

No pickles, so that a store stays readable for years and opening one runs no code.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.owners import unfinished
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.many.writing import ArrayKind, StorePart, file_name, part_of, write_parts

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
        raise _incomplete(path, error) from None
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
            if file.name != file_name(f"rank{number}_{name}") or folder not in (None, file.parent):
                return None
            folder = file.parent
    return folder


def unfinished_folder(path: Path) -> Path:
    """A hidden sibling of ``path``, on the same file system, to be renamed when complete."""
    return unfinished(path)


def _stored_part(path: Path) -> StorePart:
    """A store whose arrays are mapped when they are read."""
    manifest = _read_manifest(path)
    try:
        recorded = manifest["arrays"]
        return StorePart(
            manifest["complexes"],
            manifest["ranks"],
            manifest.get("target_rank"),
            {name: ArrayKind(tuple(each["shape"]), np.dtype(each["dtype"]))
             for name, each in recorded.items()},
            lambda name: _map_array(path, name, recorded[name], verify=False),
        )  # fmt: skip
    except KeyError as error:
        raise _incomplete(path, error) from None


def _incomplete(path: Path, missing: KeyError) -> StoreError:
    return StoreError(
        f"{path / MANIFEST} has no entry {missing}; delete the folder {path} and make it again"
    )


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
    file = path / file_name(name)
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
