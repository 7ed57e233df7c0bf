"""JSON files that end with a checksum of what they say, so that damage is found on reading.

The checksum is of the values, whatever their spacing and order, and stands in the file itself: the
two are replaced together, and no interruption can part them.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellformer.basics.causes import raise_of_process

CHECKSUM = "checksum"
"""The entry of a mapping that holds it."""
STRETCH = 1 << 20
"""Bytes that are read at a time."""


class FaultError(ValueError):
    """A file cannot be used: ``fault`` says which and why, ``cure`` what to do about it."""

    def __init__(self, fault: str, cure: str):
        super().__init__(fault, cure)
        self.fault = fault
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.fault}; {self.cure}"


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON gives them back, with their checksum as the last entry."""
    told = json.loads(json.dumps(values))
    return {**told, CHECKSUM: _checksum(told)}


def unsealed(values: Any, where: str, cure: str = "restore it from a copy") -> Any:
    """The values without their checksum.

    What has none is taken as it is: files of earlier versions, and those that a person wrote.
    Raises FaultError, naming ``where`` the values stand and the ``cure``, if the checksum differs.
    """
    if not isinstance(values, dict) or CHECKSUM not in values:
        return values
    told = without_checksum(values)
    if values[CHECKSUM] != _checksum(told):
        raise FaultError(
            f"{where} is damaged, or was edited: its checksum differs",
            f'{cure}, or, if it was you who edited it, remove its entry "{CHECKSUM}"',
        )
    return told


def without_checksum(values: Any) -> Any:
    """The values of a file that may be a copy, edited since, whose checksum says nothing."""
    if not isinstance(values, dict):
        return values
    return {name: value for name, value in values.items() if name != CHECKSUM}


def read_sealed(path: Path, cure: str = "restore it from a copy") -> Any:
    """What a JSON file holds, without its checksum.

    Raises FileNotFoundError, and FaultError, naming the file and the ``cure``, where it cannot be
    read, is no JSON or has another checksum.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise_of_process(error)
        raise FaultError(f"{path} cannot be read as JSON ({error})", cure) from None
    return unsealed(values, str(path), cure)


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_stretch(file: Path, start: int, size: int) -> str:
    """The same of some bytes of it, or of what there is of them."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        stream.seek(start)
        while size and (read := stream.read(min(size, STRETCH))):
            digest.update(read)
            size -= len(read)
    return digest.hexdigest()


def _checksum(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
