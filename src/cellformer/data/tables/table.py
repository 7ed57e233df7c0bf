"""A table, with a column of SMILES and any others: a file, standard input, or a data frame."""

import gzip
import io
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from cellformer.basics.files import replace_atomically
from cellformer.basics.suggestions import did_you_mean
from cellformer.basics.urls import local_copy
from cellformer.data.tables.delimited import Dialect
from cellformer.data.tables.formats import (
    TABLE_ENDINGS,
    WRITTEN_ENDINGS,
    frame_of,
    read_rows,
    row_pieces,
)
from cellformer.data.tables.lists import CONTAINERS, as_text
from cellformer.data.tables.writing import write_delimited

if TYPE_CHECKING:
    from cellformer.chemistry.listing import MoleculeRecord

INCHI_NAMES = ("inchi", "standard_inchi", "stdinchi", "std_inchi", "inchi_string")
SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "mol_smiles", "mol", "molecule",
                "structure", "smi")  # fmt: skip
STANDARD_STREAM = "-"
LOOKED_AT = 100
"""Rows by which it is guessed which column holds the SMILES."""

logger = logging.getLogger(__name__)


@runtime_checkable
class ArrowFrame(Protocol):
    """A data frame of any library that speaks Arrow's stream protocol, such as polars."""

    @property
    def columns(self) -> Any:
        """The names of the columns, or the columns; a single series has none."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns, without copying them."""


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a table; row i is the i-th row of data, from 0.

    Cells of a text file are strings exactly as written; other tables keep their types.
    """

    where: str  # for messages
    frame: pd.DataFrame  # never changed
    dialect: Dialect = field(default_factory=Dialect)
    faults: dict[int, str] = field(default_factory=dict)  # why rows have no molecule, by row
    records: "dict[int, MoleculeRecord]" = field(default_factory=dict)
    """The order of the atoms in the file, of molecules that it does not hold as SMILES."""

    def __len__(self) -> int:
        return len(self.frame)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame | ArrowFrame, where: str = "data frame") -> "Table":
        """A table of a pandas, polars or Arrow data frame; raises TypeError for anything else."""
        if isinstance(frame, pd.DataFrame):
            return cls(where, frame)
        if not isinstance(frame, ArrowFrame):
            raise TypeError(f"expected a data frame of pandas or polars, got {type(frame)}")
        return cls(where, frame_of(pa.table(frame)))

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(map(str, self.frame.columns))

    @property
    def name(self) -> str:
        """A short name, that of the file without its ending."""
        stem = Path(self.where).name
        for ending in TABLE_ENDINGS:
            stem = stem.removesuffix(ending)
        return stem

    def column(self, name: str) -> "pd.Series[str]":
        """One column; raises ValueError, with the nearest name, unless there is exactly one."""
        header = self.header
        if header.count(name) > 1:
            raise ValueError(f"{self.where} has two columns named {name!r}; rename one")
        if name not in header:
            hint = did_you_mean(name, header)
            raise ValueError(
                f"{self.where} has no column {name!r}{f'{hint} Its' if hint else '; its'} columns "
                f"are {', '.join(map(repr, header))}"
            )
        column: pd.Series[str] = self.frame.iloc[:, header.index(name)]
        return column

    def smiles_column(self, name: str | None = None) -> str:
        """The name of the SMILES column, as given or by the usual names in any case and spelling.

        Where there is none, a column of InChI is taken, and else the one whose cells are SMILES.
        """
        if name is not None:
            self.column(name)
            return name
        by_name = {_spelled(column): column for column in reversed(self.header)}
        for usual in (*SMILES_NAMES, *INCHI_NAMES):
            if usual in by_name:
                return by_name[usual]
        from cellformer.chemistry.guessing import are_smiles  # RDKit is loaded where it is needed

        found = [
            column
            for place, column in enumerate(self.header)
            if self.header.count(column) == 1 and are_smiles(_some_texts(self.frame.iloc[:, place]))
        ]
        if len(found) == 1:
            logger.info("%s: column %r holds SMILES: these are the molecules", self.where, found[0])
            return found[0]
        several = f", but SMILES in {', '.join(map(repr, found))}" if found else ""
        raise ValueError(
            f"{self.where} has no column named like {', '.join(SMILES_NAMES[:3])}{several}; say "
            f"which of its columns holds the SMILES (smiles_column): "
            f"{', '.join(map(repr, self.header))}"
        )


def _some_texts(cells: "pd.Series[Any]") -> list[str]:
    """Those of some rows, taken evenly."""
    rows = np.unique(np.linspace(0, max(len(cells) - 1, 0), min(LOOKED_AT, len(cells)), dtype=int))
    return [cell.strip() for cell in cells.iloc[rows].tolist() if isinstance(cell, str)]


def arrow_column(cells: "pd.Series[Any]") -> pa.ChunkedArray | None:
    """A column of texts as Arrow has it, not copied; None for any other, which Python has."""
    kind = cells.dtype
    if not isinstance(kind, pd.StringDtype) or kind.storage != "pyarrow":
        return None
    known = pa.array(cells.array)
    chunked = known if isinstance(known, pa.ChunkedArray) else pa.chunked_array([known])
    return chunked.cast(pa.large_string())


def _spelled(name: str) -> str:
    """A name in small letters, with an underscore for blanks and hyphens."""
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def is_table(source: object) -> bool:
    """Whether this is a data frame, the name of a table's file, or ``-``, the standard input."""
    if isinstance(source, str | os.PathLike):
        word = os.fspath(source)
        return word == STANDARD_STREAM or word.lower().endswith(TABLE_ENDINGS)
    return isinstance(source, ArrowFrame)


def is_written(path: str | os.PathLike[str]) -> bool:
    """Whether this is the name of a table that `write_table` writes."""
    return os.fspath(path).lower().endswith(WRITTEN_ENDINGS)


def read_table(
    path: str | os.PathLike[str], separator: str | None = None, charset: str | None = None
) -> Table:
    """Reads delimited text, an SDF, lines of SMILES, a parquet file, or the first sheet of .xlsx.

    A file at a URL is fetched into the cache.
    Texts may be gzipped. What a ``.txt`` file and ``-``, the standard input, hold is told by their
    beginning. Separator, charset and line ending are found out unless given, see `read_delimited`.
    Raises FileNotFoundError, and ValueError, naming the line, if the file is not a table.
    """
    if os.fspath(path) == STANDARD_STREAM:
        stream = io.BytesIO(sys.stdin.buffer.read())
        where = "standard input"
        return Table(where, *read_rows(stream, where, STANDARD_STREAM, separator, charset))
    file, where = local_copy(path), os.fspath(path)
    if not file.exists():
        raise FileNotFoundError(f"there is no file {where}")
    with file.open("rb") as opened:
        return Table(where, *read_rows(opened, where, file.name, separator, charset))


PIECE_ROWS = 16_384
"""Rows of a table that is read piece by piece."""


@contextmanager
def opened_pieces(
    path: str | os.PathLike[str], separator: str | None = None, charset: str | None = None
) -> Iterator[Iterator[Table] | None]:
    """A file's rows as tables of `PIECE_ROWS` each, so that its size does not matter.

    None for formats that are read as a whole, and for the standard input. Raises as `read_table`
    does, for what stands in a later row when that is reached.
    """
    where = os.fspath(path)
    if where == STANDARD_STREAM or not (file := local_copy(path)).exists():
        yield None
        return
    with file.open("rb") as opened:
        found = row_pieces(opened, where, file.name, PIECE_ROWS, separator, charset)
        yield None if found is None else (Table(where, *contents) for contents in found)


def write_table(
    frame: pd.DataFrame, path: str | os.PathLike[str] | None, dialect: Dialect | None = None
) -> None:
    """Writes a table whole or not at all, in UTF-8, as the path's ending says; None: to stdout.

    Separator, line ending, byte-order mark and the sign before fractions are those of ``dialect``,
    but a ``.tsv`` file has tabs, and a ``.csv`` file never does.
    """
    dialect = dialect or Dialect()
    if path is None:
        write_delimited(frame, sys.stdout, _for_stdout(dialect))
        return
    file = Path(path)
    if _is_parquet(file):
        with replace_atomically(file) as unfinished:
            pyarrow.parquet.write_table(_as_arrow(frame, file, dialect, pa.null()), unfinished)
        return
    with replace_atomically(file) as unfinished:
        write_delimited(
            frame,
            unfinished,
            _dialect_of(file, dialect),
            encoding="utf-8-sig" if dialect.mark else "utf-8",
            compression="gzip" if file.name.lower().endswith(".gz") else None,
        )


def write_pieces(
    frames: Iterable[tuple[pd.DataFrame, Dialect]], path: str | os.PathLike[str] | None
) -> None:
    """Writes the rows of several frames with the same columns one after the other, as `write_table`
    does; raises what making a frame raises, and then leaves no file.

    A parquet file has the kinds of columns of the first frame; where that has nothing in one, it is
    what it was in the parquet file that the rows are of, or else a text.
    """
    if path is None:
        for number, (frame, dialect) in enumerate(frames):
            write_delimited(frame, sys.stdout, _for_stdout(dialect), header=not number)
        return
    file = Path(path)
    with replace_atomically(file) as unfinished, ExitStack() as stack:
        if _is_parquet(file):
            kept = (_as_arrow(frame, file, dialect, pa.string()) for frame, dialect in frames)
            _write_parquet_pieces(kept, unfinished)
            return
        sink: Any = None
        for frame, dialect in frames:
            first = sink is None
            if first:
                binary: Any = stack.enter_context(unfinished.open("wb"))
                if file.name.lower().endswith(".gz"):
                    binary = stack.enter_context(gzip.GzipFile("", "wb", fileobj=binary))
                encoding = "utf-8-sig" if dialect.mark else "utf-8"
                sink = stack.enter_context(io.TextIOWrapper(binary, encoding, newline=""))
            write_delimited(frame, sink, _dialect_of(file, dialect), header=first)


def _for_stdout(dialect: Dialect) -> Dialect:
    return Dialect(dialect.separator, decimal=dialect.decimal)


def _write_parquet_pieces(tables: Iterable[pa.Table], unfinished: Path) -> None:
    with ExitStack() as stack:
        writer: pyarrow.parquet.ParquetWriter | None = None
        for table in tables:
            if writer is None:
                writer = stack.enter_context(
                    pyarrow.parquet.ParquetWriter(unfinished, table.schema)
                )
            writer.write_table(table.cast(writer.schema))


def _as_arrow(frame: pd.DataFrame, file: Path, dialect: Dialect, blank: pa.DataType) -> pa.Table:
    """The columns of a parquet file.

    One that has nothing is what it was in the parquet file that the rows are of, or else ``blank``.
    """
    table = pa.Table.from_pandas(_of_one_kind(frame, file), preserve_index=False)
    for place, each in enumerate(table.schema):
        if pa.types.is_null(each.type):
            nothing = pa.nulls(len(table), _kind_of(each.name, dialect) or blank)
            table = table.set_column(place, pa.field(each.name, nothing.type), nothing)
    return table


def _kind_of(column: str, dialect: Dialect) -> pa.DataType | None:
    """Of plain values; None where a column was of other ones, or was not there."""
    if dialect.schema is None:
        return None
    place = dialect.schema.get_field_index(column)
    kind = dialect.schema.types[place] if place >= 0 else None
    return kind if kind is not None and pa.types.is_primitive(kind) else None


def _is_parquet(file: Path) -> bool:
    return file.name.lower().endswith(".parquet")


def _dialect_of(file: Path, dialect: Dialect) -> Dialect:
    """That of the rows, but with the separator that the ending of a file means."""
    ending = file.name.lower().removesuffix(".gz")
    if ending.endswith((".tsv", ".tab")):
        return replace(dialect, separator="\t")
    if ending.endswith(".csv") and dialect.separator == "\t":
        return replace(dialect, separator=",")
    return dialect


def _of_one_kind(frame: pd.DataFrame, file: Path) -> pd.DataFrame:
    """The same with texts in columns that fit no type of Arrow, as spreadsheets may have them.

    Raises ValueError, naming the file that is to be written, for two columns of one name.
    """
    twice = frame.columns[frame.columns.duplicated()].tolist()
    if twice:
        raise ValueError(
            f"{file}: a parquet file cannot have two columns named {twice[0]!r}; rename one, or "
            "write a .csv file"
        )
    kept = frame.copy()
    for place, kind in enumerate(frame.dtypes):
        cells = frame.iloc[:, place]
        if pd.api.types.is_object_dtype(kind) and not _fits(cells):
            told = cells.map(lambda cell: str(as_text(cell)), na_action="ignore")
            kept.isetitem(place, told.to_numpy(object))
    return kept


def _fits(cells: "pd.Series[Any]") -> bool:
    filled = cells.dropna().tolist()
    containers = all(isinstance(cell, CONTAINERS) for cell in filled)
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    if kind.startswith("mixed") and kind != "mixed-integer-float" and not containers:
        return False  # Arrow would take some of them for others
    try:
        pa.array(filled, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return False
    return True
