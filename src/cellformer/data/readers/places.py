"""Files of a folder or of a zip archive, alike."""

import gzip
import io
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.archives import check_archive, one_line

Place = Path | zipfile.Path
"""A file or folder on disk or in an archive."""


def place_of(path: Path) -> Place:
    """The root of a folder or of a ``.zip``; raises ValueError if it is neither, or damaged."""
    if path.is_dir():
        return path
    try:
        check_archive(path)
    except ValueError as error:
        raise ValueError(
            f"{error}; it is neither a folder nor a whole .zip archive, fetch it again"
        ) from None
    return zipfile.Path(path)


def folders(root: Place) -> Iterator[Place]:
    """The root and, one level below, its folders: where an archive's content usually lies."""
    yield root
    yield from (entry for entry in root.iterdir() if entry.is_dir())


def read_bytes(place: Place) -> bytes:
    """The content, unpacked if the name ends in ``.gz``; raises ValueError if it is damaged."""
    try:
        content = place.read_bytes()
        return gzip.decompress(content) if place.name.endswith(".gz") else content
    except Exception as error:  # a damaged archive raises nearly any kind
        raise ValueError(
            f"{place}: it cannot be read ({one_line(error)}); fetch it again"
        ) from None


def read_rows(place: Place) -> NDArray[np.float64]:
    """Lines of numbers between commas as rows; NaN where one is blank.

    Raises ValueError, naming the file, if they are ragged or no numbers.
    """
    import pandas as pd  # slow to import

    content = read_bytes(place)
    if not content.strip():
        return np.zeros((0, 0))
    columns = content.lstrip().split(b"\n", 1)[0].count(b",") + 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # of a longer line
            frame = pd.read_csv(
                io.BytesIO(content),
                header=None,
                names=range(columns),  # the first line may be a blank one
                index_col=False,
                skipinitialspace=True,
                skip_blank_lines=False,
            )
        return frame.to_numpy(np.float64)
    except (ValueError, pd.errors.ParserWarning) as error:  # pandas' own errors are ValueErrors
        raise ValueError(f"{place}: it is no table of numbers ({error})") from None


def read_integers(place: Place, columns: int | None = None) -> NDArray[np.int64]:
    """The same for whole numbers, with a fixed number of columns."""
    rows = read_rows(place)
    if columns is not None and rows.shape[1] not in (columns, 0):
        raise ValueError(f"{place}: {rows.shape[1]} columns, expected {columns}")
    whole = np.isfinite(rows) & (rows == np.round(rows))
    if not whole.all():
        line = int((~whole).any(axis=1).argmax()) + 1
        raise ValueError(f"{place}, line {line}: whole numbers were expected")
    return rows.astype(np.int64) if rows.size else np.zeros((len(rows), columns or 0), np.int64)
