"""What a store says of itself, beside its parts: the file that makes a folder a store."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cellformer.basics.decoding import decoded
from cellformer.basics.sealed import FaultError, read_sealed
from cellformer.complexes.many.parts import StoreError

MANIFEST = "manifest.json"
FORMAT_VERSION = 2
EARLIER_VERSION = 1
"""A format that is read still: each array has one checksum, whole numbers are wide."""

Meta: TypeAlias = dict[str, Any]
"""What the writer wishes to remember with the arrays; anything that JSON can hold."""


@dataclass(frozen=True)
class StoredArray:
    """What a manifest records of an array."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int  # of the whole file
    sha256: str | None  # of its numbers; None where those of parts are recorded

    @property
    def start(self) -> int:
        """The byte of the file where its numbers begin."""
        return self.bytes - math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Manifest:
    """What is in a store, beside what its writer wishes to remember."""

    format: int
    complexes: int
    ranks: int
    arrays: Mapping[str, StoredArray]
    target_rank: int | None
    parts: str | None  # the SHA-256 of the file of parts, where there is one


def read_manifest(path: Path) -> tuple[Manifest, Meta]:
    """Of a store; raises StoreError, saying what to do, where it is missing, damaged or unknown."""
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
        raise StoreError(error.fault, again(path)) from None
    version = values.get("format") if isinstance(values, dict) else None
    if version not in (FORMAT_VERSION, EARLIER_VERSION):
        raise StoreError(
            f"{file} has format {version}, this version reads {FORMAT_VERSION}",
            f"{again(path)}, or use the version of cellformer that wrote it",
        )
    try:
        meta = values.pop("meta")
        manifest = decoded(Manifest, {"target_rank": None, "parts": None, **values}, str(file))
        for each in manifest.arrays.values():
            np.dtype(each.dtype)
    except KeyError as error:
        raise incomplete(path, error) from None
    except (TypeError, ValueError) as error:
        raise StoreError(str(error), again(path)) from None
    if not isinstance(meta, dict):
        raise StoreError(f"{file}: meta must be a mapping, got {meta!r}", again(path))
    return manifest, meta


def again(path: Path) -> str:
    """The way out where all of a store has to be made again."""
    return f"delete the folder {path} and make it again"


def incomplete(path: Path, missing: KeyError) -> StoreError:
    """What is raised where the manifest lacks an entry."""
    return StoreError(f"{path / MANIFEST} has no entry {missing}", again(path))
