"""What a file of rows is, by its name or by its beginning, and its reader."""

import io
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd
import pyarrow
import pyarrow.parquet

from cellformer.basics.archives import one_line
from cellformer.data.mapped import is_large, mapped
from cellformer.data.tables.delimited import (
    Dialect,
    decoded,
    delimited_pieces,
    read_delimited,
    sample_of,
)
from cellformer.data.tables.sdf import is_sdf, read_sdf
from cellformer.data.tables.smiles_lines import is_smiles_lines, read_smiles_lines

WRITTEN_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".tab", ".parquet")
"""Of tables that are written too."""
TABLE_ENDINGS = (*WRITTEN_ENDINGS, ".sdf", ".sdf.gz", ".smi", ".smi.gz", ".txt", ".txt.gz", ".xlsx")

if TYPE_CHECKING:
    from cellformer.chemistry.listing import MoleculeRecord

Contents: TypeAlias = "tuple[pd.DataFrame, Dialect, dict[int, str], dict[int, MoleculeRecord]]"
"""The cells, how the text was written, why rows cannot be used, and the atoms of others."""

logger = logging.getLogger(__name__)


def read_rows(
    stream: io.BufferedIOBase, where: str, name: str, separator: str | None, charset: str | None
) -> Contents:
    """The rows of a file that is called ``name``; of other names the beginning tells what it is.

    Raises ValueError, naming ``where``, for a damaged file, and for a separator or a charset of
    a format that has its own.
    """
    ending = _format(stream, where, name, separator, charset)
    if ending == "delimited":
        return *read_delimited(stream, where, separator, charset), {}, {}
    if ending == "sdf":
        frame, faults, records = read_sdf(stream, where, charset)
        return frame, Dialect(), faults, records
    if ending == "smi":
        return read_smiles_lines(decoded(stream, where, charset), where), Dialect(), {}, {}
    read = {"parquet": _read_parquet, "xlsx": _read_excel}[ending]
    frame = _guarded(read, stream, where, ending)
    if ending != "parquet":
        return frame, Dialect(), {}, {}
    stream.seek(0)
    return frame, Dialect(schema=pyarrow.parquet.read_schema(stream)), {}, {}


def row_pieces(
    stream: io.BufferedIOBase,
    where: str,
    name: str,
    rows: int,
    separator: str | None,
    charset: str | None,
) -> Iterator[tuple[pd.DataFrame, Dialect]] | None:
    """The same rows, so many at a time, of delimited text and parquet; None for other formats.

    Raises as `read_rows` does, as the pieces are asked for.
    """
    ending = _format(stream, where, name, separator, charset)
    if ending == "delimited":
        return delimited_pieces(stream, where, rows, separator, charset)
    return _parquet_pieces(stream, where, rows) if ending == "parquet" else None


def _format(
    stream: io.BufferedIOBase, where: str, name: str, separator: str | None, charset: str | None
) -> str:
    """Of a file: delimited, parquet, xlsx, sdf or smi.

    Raises ValueError for a separator or a charset of a format that has its own.
    """
    ending = name.lower().removesuffix(".gz").rpartition(".")[2]
    if ending in ("csv", "tsv", "tab"):
        return "delimited"
    if ending not in ("parquet", "xlsx", "sdf", "smi"):
        ending = "delimited" if separator else _told(stream, where, charset)
    if ending == "delimited":
        return ending
    chosen = {"separator": separator}
    if ending in ("parquet", "xlsx"):
        chosen["charset"] = charset
    for option, value in chosen.items():
        if value is not None:
            raise ValueError(f"{option} is of no use to {where}, which has its own")
    return ending


def _told(stream: io.BufferedIOBase, where: str, charset: str | None) -> str:
    """Which format a stream has by its beginning."""
    start = stream.read(4)
    stream.seek(0)
    if start == b"PAR1":
        return "parquet"
    if start == b"PK\x03\x04":
        return "xlsx"
    sample = sample_of(stream, where, charset)
    if is_sdf(sample):
        return "sdf"
    return "smi" if is_smiles_lines(sample) else "delimited"


def _guarded(
    read: Callable[[io.BufferedIOBase, str], pd.DataFrame],
    stream: io.BufferedIOBase,
    where: str,
    ending: str,
) -> pd.DataFrame:
    try:
        return read(stream, where)
    except (ImportError, MemoryError, _EmptyError):
        raise
    except Exception as error:  # a damaged file raises nearly any kind
        raise _unreadable(where, ending, error) from None


class _EmptyError(ValueError):
    """A workbook without a table in its first sheet."""


def _unreadable(where: str, ending: str, error: Exception) -> ValueError:
    return ValueError(
        f"{where} cannot be read as {ending} ({one_line(error)}); it is damaged, or something "
        "else: save it anew, or as .csv"
    )


def _read_parquet(stream: io.BufferedIOBase, where: str) -> pd.DataFrame:
    large = is_large(stream)
    file = pyarrow.parquet.ParquetFile(stream)  # also with two columns of one name
    if large:
        return frame_of(_mapped_parquet(file))
    rows = file.read()
    rows.validate(full=True)  # texts that are no UTF-8
    return frame_of(rows)


def frame_of(table: pyarrow.Table) -> pd.DataFrame:
    """The columns of an Arrow table; whole numbers stay so beside missing ones.

    As objects where there are missing ones, but of those without a sign, for which Arrow cannot
    tell later what they were.
    """
    unsigned = {kind: pd.UInt64Dtype() for kind in (pyarrow.uint64(),)}
    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True, types_mapper=unsigned.get)
    return frame


def _mapped_parquet(file: pyarrow.parquet.ParquetFile) -> pyarrow.Table:
    def batches() -> Iterator[pyarrow.RecordBatch]:
        for batch in file.iter_batches():
            batch.validate(full=True)
            yield batch

    return mapped(batches(), file.schema_arrow)


def _parquet_pieces(
    stream: io.BufferedIOBase, where: str, rows: int
) -> Iterator[tuple[pd.DataFrame, Dialect]]:
    try:
        file = pyarrow.parquet.ParquetFile(stream)
        for batch in file.iter_batches(batch_size=rows):
            table = pyarrow.Table.from_batches([batch])
            table.validate(full=True)
            yield frame_of(table), Dialect(schema=file.schema_arrow)
    except (MemoryError, GeneratorExit):
        raise
    except Exception as error:  # a damaged file raises nearly any kind
        raise _unreadable(where, "parquet", error) from None


def _read_excel(stream: io.BufferedIOBase, where: str) -> pd.DataFrame:
    """The first sheet, cells and names of columns as they are; rows without any are left out."""
    try:
        import openpyxl  # noqa: F401
    except ModuleNotFoundError as missing:
        raise ImportError(
            f"{where}: .xlsx files are read by {missing.name}: pip install 'cellformer[xlsx]'"
        ) from missing
    with pd.ExcelFile(stream, engine="openpyxl") as book:
        first, *others = map(str, book.sheet_names)
        if others:
            logger.info("%s: its first sheet, %r, is read, of %d", where, first, len(others) + 1)
        cells: pd.DataFrame = pd.read_excel(
            book,
            sheet_name=first,
            header=None,
            dtype=object,
            keep_default_na=False,
            na_values=[""],
        )
    cells = cells.dropna(how="all")
    if not len(cells):
        raise _EmptyError(
            f"{where}: its first sheet, {first!r}, is empty; move the sheet with the table there"
        )
    names, frame = cells.iloc[0], cells.iloc[1:]
    used = (names.notna() | frame.notna().any()).to_numpy(bool)
    frame = frame.loc[:, used].reset_index(drop=True)
    frame.columns = pd.Index(
        ["" if pd.isna(name) else str(name) for name in names[used]], dtype=object
    )
    return frame
