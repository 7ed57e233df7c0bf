"""Delimited text, whatever wrote it: any separator, encoding and line ending.

The cells are read by pyarrow, so that a table of a million rows holds no Python object per cell.
"""

import codecs
import csv
import gzip
import io
import itertools
import logging
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from cellformer.data.mapped import is_large, mapped

logger = logging.getLogger(__name__)

SEPARATORS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 16
SAMPLE_LINES = 50
_CHUNK = 1 << 20
_UNIT = r"(?:\s*[^\s\d.,;:\-]\S*)?\s*"
_WITH_POINT = re.compile(rf"\s*[<>]?\s*[+-]?\d+\.\d+(?:[eE][+-]?\d+)?{_UNIT}")
# Not 1,234, which may be a thousand.
_WITH_COMMA = re.compile(
    rf"\s*[<>]?\s*[+-]?(?:0,\d+|\d{{4,}},\d+|\d+,(?:\d{{1,2}}|\d{{4,}}))(?:[eE][+-]?\d+)?{_UNIT}"
)
BLOCK_BYTES = 1 << 24
"""Of a text that is read piece by piece; no line may be longer."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """How a table is written: a delimited text, or the columns of a parquet file."""

    separator: str = ","
    newline: str = "\n"
    mark: bool = False  # whether it starts with a byte-order mark
    schema: pyarrow.Schema | None = None  # what the columns of a parquet file hold
    decimal: str = "."  # what stands before the fraction of a number


def read_delimited(
    stream: io.BufferedIOBase, where: str, separator: str | None = None, charset: str | None = None
) -> tuple[pd.DataFrame, Dialect]:
    """The cells as strings, exactly as written, and how the text was written.

    ``stream`` is seekable and may be gzipped. The separator, unless given, is the one by which the
    first lines fall into equally many cells; the charset is told by a byte-order mark, else it is
    UTF-8, else, with a warning, Windows-1252; bytes that are not UTF-8 under its mark are read as
    Windows-1252 too, with a warning. Lines that are blank are no rows. Raises ValueError,
    naming ``where`` and the line, if the text is not a table.
    """
    large = is_large(stream)
    with _readable(where):
        written = _looked_into(stream, where, separator, charset)
        if not large:
            with _in_charset(where, written.charset):
                return _cells(written, where), written.dialect
    table = mapped(_batches(written, where), pa.schema(_kinds(written, pa.large_string())))
    return _framed(table, written), written.dialect


def delimited_pieces(
    stream: io.BufferedIOBase,
    where: str,
    rows: int,
    separator: str | None = None,
    charset: str | None = None,
) -> Iterator[tuple[pd.DataFrame, Dialect]]:
    """The same cells, so many rows at a time; no more of the text is held than a few megabytes."""
    with _readable(where):
        written = _looked_into(stream, where, separator, charset)
        with _in_charset(where, written.charset):
            for frame in _pieces(written, where, rows):
                yield frame, written.dialect


@dataclass(frozen=True, eq=False)
class _Written:
    """A text, and how it was found to be written."""

    text: io.BufferedIOBase
    charset: str
    separator: str
    header: list[str]
    newline: str
    decimal: str

    @property
    def dialect(self) -> Dialect:
        """What is kept of it."""
        mark = self.charset in ("utf-8-sig", "utf-16", "utf-32")
        return Dialect(self.separator, self.newline, mark, decimal=self.decimal)


def _looked_into(
    stream: io.BufferedIOBase, where: str, separator: str | None, charset: str | None
) -> _Written:
    text = _unzipped(stream)
    if charset is None:
        charset = detect_charset(text, where)
        if charset == "utf-8-sig" and not _decodes(text, charset):
            text = _mended(text, where)
    with _in_charset(where, charset):
        sample = _sample(text, charset)
    separator = separator or detect_separator(sample)
    header = next(_records(io.StringIO(sample, newline=""), separator), (0, []))[1]
    if not header:
        raise ValueError(f"{where} is empty; a line with the names of the columns is needed")
    ending = re.search(r"\r\n|\n|\r", sample)
    newline = ending.group() if ending else "\n"
    return _Written(text, charset, separator, header, newline, detect_decimal(sample, separator))


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """Raises ValueError, naming ``where``, for a text that is cut short or damaged."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{where} cannot be read: {error}") from None


@contextmanager
def _in_charset(where: str, charset: str) -> Iterator[None]:
    """Raises ValueError, naming ``where``, for a text in another charset, or an unknown one."""
    try:
        yield
    except UnicodeError:
        raise ValueError(f"{where} is not {charset}; name another data.charset, or none") from None
    except LookupError:
        raise ValueError(f"{where}: there is no data.charset {charset!r}, such as utf-8") from None


def decoded(stream: io.BufferedIOBase, where: str, charset: str | None) -> Iterator[str]:
    """The lines of a text, gzipped or not; its charset is found out as by `read_delimited`.

    Raises ValueError, naming ``where``, where it is not in that charset, or cut short.
    """
    try:
        text = _unzipped(stream)
        found = charset or detect_charset(text, where)
        if not _decodes(text, found):
            if found != "utf-8-sig" or charset:
                raise ValueError(f"{where} cannot be read as {found}; name another charset")
            text, found = _mended(text, where), "utf-8"
        return _lines(text, found)
    except (OSError, EOFError, LookupError, zlib.error) as error:
        raise ValueError(f"{where} cannot be read: {error}") from None


def _lines(stream: io.BufferedIOBase, charset: str) -> Iterator[str]:
    reader = io.TextIOWrapper(stream, charset, newline=None)  # type: ignore[type-var]
    try:
        yield from reader
    finally:
        reader.detach()  # whoever opened the stream closes it


def sample_of(stream: io.BufferedIOBase, where: str, charset: str | None) -> str:
    """The first whole lines of a text, gzipped or not; the stream is left at its start."""
    try:
        text = _unzipped(stream)
        sample = _sample(text, charset or "utf-8", errors="replace")
    except (OSError, EOFError, LookupError, zlib.error) as error:
        raise ValueError(f"{where} cannot be read: {error}") from None
    stream.seek(0)
    return sample


def detect_charset(stream: io.BufferedIOBase, where: str) -> str:
    """The name of the encoding, for Python; reads the stream and leaves it at its start."""
    start = stream.read(4)
    stream.seek(0)
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    if _decodes(stream, "utf-8"):
        return "utf-8"
    guess = "cp1252" if _decodes(stream, "cp1252") else "latin-1"
    logger.warning(
        "%s is not UTF-8; it is read as %s: check words with accents, or name its charset",
        where,
        "Windows-1252" if guess == "cp1252" else "Latin-1",
    )
    return guess


def detect_separator(sample: str) -> str:
    """The separator that divides the first lines most evenly, then into the most cells."""
    # A word stands for what is in quotes: between tabs nothing would look like a blank line.
    unquoted = re.sub(r'"[^"]*"', "word", sample)
    lines = [line for line in re.split(r"[\r\n]+", unquoted) if line.strip()][:SAMPLE_LINES]

    def evenness(separator: str) -> tuple[bool, int]:
        counts = [line.count(separator) for line in lines] or [0]
        return counts[0] > 0 and len(set(counts)) == 1, counts[0]

    return max(SEPARATORS, key=evenness)  # of equals the first


def detect_decimal(sample: str, separator: str) -> str:
    """A comma where it can be no other sign in some number, and no number has a point."""
    if separator == ",":
        return "."
    rows = itertools.islice(_records(io.StringIO(sample, newline=""), separator), 1, SAMPLE_LINES)
    cells = [cell for _, row in rows for cell in row]
    commas = any(map(_WITH_COMMA.fullmatch, cells))
    return "," if commas and not any(map(_WITH_POINT.fullmatch, cells)) else "."


def _unzipped(stream: io.BufferedIOBase) -> io.BufferedIOBase:
    start = stream.read(2)
    stream.seek(0)
    return gzip.GzipFile(fileobj=stream) if start == b"\x1f\x8b" else stream


def _decodes(stream: io.BufferedIOBase, charset: str) -> bool:
    decoder = codecs.getincrementaldecoder(charset)()
    try:
        while chunk := stream.read(_CHUNK):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    finally:
        stream.seek(0)
    return True


def _mended(stream: io.BufferedIOBase, where: str) -> io.BytesIO:
    """The text in UTF-8, with what is not taken for Windows-1252: lines pasted from elsewhere."""
    raw = memoryview(stream.read())
    parts, start, strange = [], 0, 0
    while start < len(raw):
        try:
            parts.append(str(raw[start:], "utf-8"))
            break
        except UnicodeDecodeError as error:
            parts.append(str(raw[start : start + error.start], "utf-8"))
            parts.append(str(raw[start + error.start : start + error.end], "cp1252", "replace"))
            start, strange = start + error.end, strange + 1
    logger.warning(
        "%s begins as UTF-8, but %d of its characters are not; they are read as Windows-1252: "
        "check words with accents",
        where,
        strange,
    )
    return io.BytesIO("".join(parts).encode("utf-8"))


def _sample(stream: io.BufferedIOBase, charset: str, errors: str = "strict") -> str:
    """The first whole lines."""
    raw = stream.read(SAMPLE_BYTES)
    stream.seek(0)
    text = codecs.getincrementaldecoder(charset)(errors).decode(raw)
    if len(raw) == SAMPLE_BYTES and (end := max(text.rfind("\n"), text.rfind("\r"))) > 0:
        text = text[: end + 1]
    return text


def _records(lines: io.TextIOBase, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that is not blank, with the number of its last line, from 1."""
    reader = csv.reader(lines, delimiter=separator)
    try:
        for cells in reader:
            if cells and not (len(cells) == 1 and not cells[0].strip()):
                yield reader.line_num, cells
    except csv.Error:
        return  # such as a cell of more than 128 kB: pyarrow decides


def _cells(written: _Written, where: str) -> pd.DataFrame:
    """All rows below the header."""
    try:
        table = pyarrow.csv.read_csv(**_options(written))
    except pa.ArrowInvalid as error:
        raise _explained(error, written, where) from None
    return _framed(table.slice(1), written)


def _pieces(written: _Written, where: str, rows: int) -> Iterator[pd.DataFrame]:
    """The rows below the header, so many at a time; the last may have fewer."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in _batches(written, where):
        waiting.append(batch)
        count += batch.num_rows
        while count >= rows:
            table = pa.Table.from_batches(waiting)
            yield _framed(table.slice(0, rows), written)
            waiting = table.slice(rows).to_batches()
            count -= rows
    if count:
        yield _framed(pa.Table.from_batches(waiting), written)


def _batches(written: _Written, where: str) -> Iterator[pa.RecordBatch]:
    """The rows below the header, as many at a time as `BLOCK_BYTES` hold."""
    options = _options(written)
    options["read_options"].block_size = BLOCK_BYTES
    schema, skipped = pa.schema(_kinds(written, pa.large_string())), False
    with _readable(where), _in_charset(where, written.charset):
        try:
            with pyarrow.csv.open_csv(**options) as reader:
                for batch in reader:
                    own = batch if skipped or not batch.num_rows else batch.slice(1)
                    skipped = skipped or bool(batch.num_rows)
                    yield own.cast(schema)
        except pa.ArrowInvalid as error:
            raise _explained(error, written, where) from None


def _options(written: _Written) -> dict[str, Any]:
    """How pyarrow is to read a text; columns are named by number, and the header is a row."""
    kinds = dict(_kinds(written, pa.string()))
    utf8 = written.charset.startswith("utf-8")
    return {
        "input_file": pa.PythonFile(written.text, "r"),
        "read_options": pyarrow.csv.ReadOptions(
            column_names=[*kinds], encoding="utf8" if utf8 else written.charset
        ),
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=written.separator,
            newlines_in_values=True,
            invalid_row_handler=lambda row: "error" if row.text.strip() else "skip",
        ),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=kinds, strings_can_be_null=False
        ),
    }


def _kinds(written: _Written, kind: pa.DataType) -> list[tuple[str, pa.DataType]]:
    """The names of the columns, their numbers, and what is in them."""
    return [(str(number), kind) for number in range(len(written.header))]


def _framed(table: pa.Table, written: _Written) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(self_destruct=True, split_blocks=True)
    frame.columns = pd.Index(written.header, dtype=object)
    return frame


def _explained(error: pa.ArrowInvalid, written: _Written, where: str) -> ValueError:
    """Which line has too few or too many cells, if that is what pyarrow stumbles over."""
    stream, width, separator = written.text, len(written.header), written.separator
    stream.seek(0)
    reader = io.TextIOWrapper(stream, written.charset, newline="")  # type: ignore[type-var]
    try:
        for number, cells in _records(reader, separator):
            if len(cells) != width:
                sign = {",": "a comma", "\t": "a tab"}.get(separator, repr(separator))
                return ValueError(
                    f"{where}, line {number}: {len(cells)} cells where the header names {width} "
                    f"columns; a cell that contains {sign} or a line break must stand in double "
                    "quotes"
                )
    finally:
        reader.detach()  # whoever opened the stream closes it
    return ValueError(
        f"{where} is not a table: {error}; a cell with a quote in it must stand in quotes, and the "
        "quote be doubled"
    )
