"""Arrays in ``.npz`` files, read without pickles and compared with the checksums of the archive."""

import logging
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.causes import raise_of_process

logger = logging.getLogger(__name__)


def read_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """All arrays of a file by their names.

    Raises FileNotFoundError, and ValueError, naming the file and the array, where anything is
    damaged, is no array or holds Python objects.
    """
    if not file.exists():
        raise FileNotFoundError(f"there is no file {file}")
    arrays: dict[str, NDArray[Any]] = {}
    with opened_archive(file) as archive:
        for member in archive.namelist():
            name = member.removesuffix(".npy")
            if name == member:
                raise ValueError(f"{file}: {name!r} is not an array; store it with np.savez")
            try:
                arrays[name] = _read(archive, member)
            except Exception as error:  # a damaged archive raises nearly any kind
                raise_of_process(error)
                reason = (
                    "holds Python objects (a pickle), which are not read because that could run "
                    "code; store plain numbers"
                    if "allow_pickle" in str(error)
                    else f"cannot be read ({one_line(error)}); the file is damaged: restore it "
                    "from a copy"
                )
                raise ValueError(f"{file}: array {name!r} {reason}") from None
    return arrays


def kept_arrays(file: Path) -> dict[str, NDArray[Any]] | None:
    """The arrays of a file of the cache; None where it has to be made, told if it is damaged."""
    try:
        return read_arrays(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise_of_process(error)
        tell_damaged(file, str(error))
        return None


def tell_damaged(file: Path, reason: str) -> None:
    """Warns of a file of the cache that cannot be used."""
    logger.warning("%s is damaged and is made again (%s)", file, reason)


def check_archive(file: Path) -> None:
    """Compares all that a zip archive holds with its checksums; raises ValueError, naming it."""
    try:
        with zipfile.ZipFile(file) as archive:
            damaged = archive.testzip()
    except Exception as error:  # a damaged archive raises nearly any kind
        raise_of_process(error)
        raise ValueError(f"{file} is damaged ({one_line(error)})") from None
    if damaged is not None:
        raise ValueError(f"{file} is damaged (the checksum of {damaged!r} in it differs)")


def opened_archive(file: Path) -> zipfile.ZipFile:
    """A zip archive; raises ValueError, naming the file, where its directory is damaged."""
    try:
        return zipfile.ZipFile(file)
    except Exception as error:  # a damaged directory raises nearly any kind
        raise_of_process(error)
        raise ValueError(
            f"{file} is not an .npz file (or is cut short); see np.savez_compressed "
            f"({one_line(error)})"
        ) from None


def one_line(error: Exception) -> str:
    """The kind of an error and the first line of what it says.

    Without the advice to load unsafely what is damaged.
    """
    told = f"{type(error).__name__}: {error}".splitlines()[0].removesuffix(": ")
    told = re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>", r"\1", told)
    return told.partition(". If you trust the file")[0]


def _read(archive: zipfile.ZipFile, member: str) -> NDArray[Any]:
    with archive.open(member) as stream:
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):  # the end is reached, where checksums are compared
            raise ValueError("it is longer than its shape")
    return array
