"""Odd workbooks, parquet files, SDFs and lines of SMILES, as they were meant."""

import datetime
import decimal
import io
import math
import zoneinfo
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet
from rdkit import Chem, rdBase

from tiny import SMILES

Rng = np.random.Generator

WRONG = ("not a molecule", "C1CC", "C(C)(C)(C)(C)C", "[CH999]", "1", "((((", "=1+1", "@", "-")
"""Texts that are no molecules in any column of SMILES."""
DAY = datetime.date(2024, 2, 29)
MOMENT = datetime.datetime(2024, 2, 29, 23, 59, 59, 123456)
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


@dataclass(frozen=True)
class OddSource:
    """A file and what it means."""

    name: str
    raw: bytes
    molecules: tuple[str | None, ...]
    """The SMILES of each row; None for what is no molecule, empty for what nobody knows."""
    values: tuple[float | None, ...]
    """Of the column y, None where there is no number."""
    whole: bool
    """Whether it has to be read, row by row; a file that is not may be refused as a whole."""
    learned: bool = True
    """Whether the values have to be read as numbers, if it is read at all."""


def odd_source(rng: Rng) -> OddSource:
    """One of the four kinds, half of them with what no program writes, or damaged."""
    makers: tuple[Callable[[Rng], OddSource], ...] = (_workbook, _parquet, _sdf, _lines)
    made = makers[rng.integers(len(makers))](rng)
    if len(set(made.values)) < 4:  # two numbers are taken for two classes
        made = replace(made, learned=False)
    if rng.integers(6):
        return made
    raw = bytearray(made.raw)
    place = int(rng.integers(len(raw))) if raw else 0
    match rng.integers(4):
        case 0:
            del raw[place:]
        case 1 if raw:
            raw[place] ^= 1 << int(rng.integers(8))
        case 2:
            raw[place : place + 64] = bytes(len(raw[place : place + 64]))
        case _:
            raw += b"\r\n\x1a trailing"
    return replace(made, raw=bytes(raw), whole=False, learned=False)


def _drawn(rng: Rng) -> tuple[list[str | None], list[float]]:
    """SMILES with some that are no molecules, and values."""
    count = int(rng.choice([1, 2, 12, 30]))
    wrong = float(rng.choice([0.0, 0.2]))
    molecules = [None if rng.random() < wrong else str(rng.choice(SMILES)) for _ in range(count)]
    values = [float(np.round(rng.normal() * 10.0 ** rng.integers(-2, 4), 4)) for _ in molecules]
    return molecules, values


def _texts(rng: Rng, molecules: Sequence[str | None]) -> list[str]:
    return [str(rng.choice(WRONG)) if each is None else each for each in molecules]


CELLS: tuple[Any, ...] = (
    None, 0, -1.5, 1e300, True, "text", " ", "=SUM(A1:A9)", "#N/A", "'", "z" * 32000, "two\nlines",
    "0012", MOMENT, DAY, datetime.time(12, 30), datetime.timedelta(days=1.5), "_x000D_",
    "ÄÖ€\U0001f9ea", "NaN", "None", "=1/0", 2**53 + 1,
)  # fmt: skip


def _workbook(rng: Rng) -> OddSource:
    molecules, numbers = _drawn(rng)
    book = openpyxl.Workbook()
    sheet = book.active
    whole = learned = True
    values: list[float | None] = [*numbers]
    header: list[Any] = ["smiles", "y", rng.choice(["note", "Notiz\nlang", "2020", "y ", "error"])]
    match rng.integers(8):
        case 0:
            header.append(None)  # a column without a name
        case 1:  # is refused
            header[2], whole, learned = str(rng.choice(["smiles", "y"])), False, False
        case 2:
            header[2] = 2020.0
        case 3:
            header[2] = DAY
    sheet.append(header)
    for at, text in enumerate(_texts(rng, molecules)):
        cell: Any = numbers[at]
        match rng.integers(12):
            case 0:
                cell, values[at] = rng.choice(["", "NA", "#N/A", "-"]), None
            case 1:
                cell = str(cell)
            case 2:
                cell, values[at] = f"={cell}", None  # of which no program has kept a value
            case 3:
                cell = values[at] = int(cell)
                values[at] = float(cell)
        given = [text.replace("=1+1", "@"), cell, CELLS[rng.integers(len(CELLS))]]
        if len(header) == 4:
            given.append(CELLS[rng.integers(len(CELLS))])
        try:
            sheet.append(given)
        except ValueError:  # openpyxl knows what a workbook cannot hold
            sheet.append([*given[:2], None])
    match rng.integers(8):
        case 0:  # merged: its first cell alone has something
            sheet.merge_cells(start_row=1, end_row=1, start_column=3, end_column=4)
        case 1 if len(molecules) > 1:
            sheet["C3"] = "a row with something in it"
            sheet.merge_cells("A2:A3")
            molecules[1] = None
        case 2:
            book.create_sheet("first", 0)
            whole = False
        case 3:
            book.create_sheet("another").append(["smiles", "y"])
        case 4:
            sheet.insert_rows(1)
            whole = learned = False
        case 5:
            sheet.cell(len(molecules) + 9, 9).number_format = "0.00"  # used, and empty
        case 6:
            sheet.freeze_panes = "B2"
            sheet.auto_filter.ref = "A1:B2"
            sheet.row_dimensions[2].hidden = True
    raw = io.BytesIO()
    book.save(raw)
    return OddSource("odd.xlsx", raw.getvalue(), tuple(molecules), tuple(values), whole, learned)


def _odd_columns(rng: Rng, count: int) -> dict[str, "pa.Array"]:
    """A column or more of types that tables rarely have."""
    some = [None if rng.random() < 0.3 else int(rng.integers(100)) for _ in range(count)]
    kinds: dict[str, tuple[Callable[[int], Any], Any]] = {
        "big": (lambda n: 2**53 + 1 + n, pa.int64()),
        "unsigned": (lambda n: 2**64 - 1 - n, pa.uint64()),
        "decimal": (lambda n: decimal.Decimal(n) / 8, pa.decimal128(20, 6)),
        "day": (lambda n: DAY + datetime.timedelta(n * 400), pa.date32()),
        "moment": (lambda n: MOMENT, pa.timestamp("us", "Europe/Berlin")),
        "early": (lambda n: datetime.datetime(1, 1, 1 + n % 28), pa.timestamp("us")),
        "clock": (lambda n: datetime.time(n % 24), pa.time64("us")),
        "lasting": (lambda n: datetime.timedelta(n), pa.duration("s")),
        "list": (lambda n: [n] * (n % 3), pa.list_(pa.int64())),
        "struct": (lambda n: {"a": n, "b": [str(n)]}, pa.struct(
            {"a": pa.int64(), "b": pa.list_(pa.string())})),
        "map": (lambda n: [("a", n)], pa.map_(pa.string(), pa.int64())),
        "nested": (lambda n: [{"a": n}], pa.list_(pa.struct({"a": pa.int64()}))),
        "words": (lambda n: "ab"[n % 2], pa.dictionary(pa.int8(), pa.string())),
        "bytes": (lambda n: bytes([n, 255 - n]), pa.binary()),
        "truth": (lambda n: n % 2 == 0, pa.bool_()),
        "half": (lambda n: np.float16(n), pa.float16()),
        "nothing": (lambda n: None, pa.null()),
        "huge": (lambda n: "z" * 100_000 if n == 1 else "ÄÖ\0\n", pa.large_string()),
        "endless": (lambda n: (math.inf, -math.inf, math.nan)[n % 3], pa.float64()),
    }  # fmt: skip
    names = rng.choice(list(kinds), int(rng.integers(1, 4)), replace=False)
    return {str(name): pa.array([None if n is None else kinds[name][0](n) for n in some],
                                kinds[name][1]) for name in names}  # fmt: skip


def _parquet(rng: Rng) -> OddSource:
    molecules, numbers = _drawn(rng)
    values: list[float | None] = [None if rng.random() < 0.1 else each for each in numbers]
    whole = learned = True
    texts = _texts(rng, molecules)
    smiles = pa.array(texts, pa.string())
    match rng.integers(5):
        case 0:
            smiles = smiles.dictionary_encode()
        case 1:
            smiles = smiles.cast(pa.large_string())
        case 2:
            blank = [None if rng.random() < 0.3 else text for text in texts]
            molecules = [m if text else None for m, text in zip(molecules, blank, strict=True)]
            smiles = pa.array(blank, pa.string())
    match rng.integers(8):
        case 0:
            y = pa.array([None if v is None else decimal.Decimal(str(v)) for v in values],
                         pa.decimal128(20, 4))  # fmt: skip
        case 1:
            y = pa.array([None if v is None else str(v) for v in values], pa.string())
        case 2:
            words = [None if v is None else str(v) for v in values]
            y = pa.array(words, pa.string()).dictionary_encode()
        case 3:
            endless = [math.inf if rng.random() < 0.2 else v for v in values]
            y = pa.array(endless, pa.float64())
            values = [None if v == math.inf else v for v in endless]
        case 4:
            values = [None if v is None else float(int(v)) for v in values]
            y = pa.array([None if v is None else int(v) for v in values], pa.int32())
        case 5:
            y, learned = pa.array([[v] for v in values]), False
        case _:
            y = pa.array(values, pa.float32() if rng.integers(2) else pa.float64())
    columns = {"smiles": smiles, "y": y} | _odd_columns(rng, len(texts))
    order = rng.permutation(len(columns))
    names = [list(columns)[at] for at in order]
    table = pa.table([columns[name] for name in names], names=names)
    match rng.integers(8):
        case 0:
            table = table.append_column("y", columns["y"])  # a name twice
            whole = learned = False
        case 1:
            table = table.append_column("", pa.array(texts))
        case 2:
            table, whole, learned = table.drop(["smiles"]), False, False
        case 3:
            table, whole, learned, molecules = table.slice(0, 0), False, False, []
    raw = io.BytesIO()
    groups, packed = int(rng.choice([1, 7, 1000])), str(rng.choice(["snappy", "none", "zstd"]))
    pyarrow.parquet.write_table(table, raw, row_group_size=groups, compression=packed)
    return OddSource("odd.parquet", raw.getvalue(), tuple(molecules), tuple(values), whole, learned)


def _sdf(rng: Rng) -> OddSource:
    molecules, numbers = _drawn(rng)
    values: list[float | None] = [*numbers]
    records = []
    for at, smiles in enumerate(molecules):
        with rdBase.BlockLogs():
            molecule = Chem.MolFromSmiles(smiles or "CCO")
        block = Chem.MolToMolBlock(molecule, forceV3000=bool(rng.integers(4) == 0))
        lines = block.split("\n")
        lines[0] = str(rng.choice(["", "a name", "$$$ ", "> <y>", "ÄÖ€", "M  END "]))
        if smiles is None:
            molecules[at] = ""
            lines = _broken(rng, lines)
        text = "\n".join(lines)
        if rng.integers(8) == 0:
            values[at] = None
        else:
            text += f"> <y>{rng.choice(['', '  (1)'])}\n{numbers[at]}\n\n"
        match rng.integers(8):
            case 0:
                text += "> <note>\ntwo\nlines\n\n"
            case 1:
                text += "> <smiles>\nC\n\n"
            case 2:
                text += "> <>\n\n"
            case 3:
                text += "> <Name>\n" + "z" * 3000 + "\n\n"
        records.append(f"{text}$$$$\n")
    newline = str(rng.choice(["\n", "\r\n"]))
    text = "".join(records)
    if rng.integers(6) == 0:
        text = text.removesuffix("$$$$\n")
    raw = text.replace("\n", newline).encode(str(rng.choice(["utf-8", "cp1252", "utf-8-sig"])))
    return OddSource("odd.sdf", raw, tuple(molecules), tuple(values), True)


def _broken(rng: Rng, lines: list[str]) -> list[str]:
    """A molecule block that something is wrong with; its end stays."""
    end = max(at for at, line in enumerate(lines) if line.startswith("M  END"))
    counts = 3
    match rng.integers(9):
        case 0:
            lines[counts] = "999999  0  0  0  0  0  0  0  0999 V2000"
        case 1:
            lines[counts] = str(rng.choice(["", "x", "  3", " -1 -1", "  0  0  0 V2000", "\0"]))
        case 2:
            del lines[int(rng.integers(end))]
        case 3:
            at = int(rng.integers(counts + 1, max(end, counts + 2)))
            lines[at] = lines[at][: int(rng.integers(len(lines[at]) + 1))]
        case 4:
            at = int(rng.integers(counts + 1, max(end, counts + 2)))
            lines[at] = lines[at].replace(" C ", str(rng.choice([" Xx", " R#", " * ", " A "])))
        case 5:
            at = int(rng.integers(counts + 1, max(end, counts + 2)))
            lines[at] = lines[at].replace("0", "9")
        case 6:
            del lines[end]
        case 7:
            lines[counts + 1 :] = lines[counts + 1 : end][::-1] + lines[end:]
        case _:
            lines.insert(int(rng.integers(end)), "")
    return lines


def _lines(rng: Rng) -> OddSource:
    molecules, _ = _drawn(rng)
    texts = []
    for text in _texts(rng, molecules):
        name = str(rng.choice(["", "a name", "x\ty", "|$a$|", "|c:1|", "#3", "ÄÖ€", '"q"', "1,5"]))
        texts.append(f"{'' if rng.integers(5) else ' '}{text}{rng.choice([' ', chr(9)])}{name}")
    # Two words that are no SMILES are one cell or two, and what stands between bars is a part.
    molecules = ["" if "|" in text or (each is None and "not" in text) else each
                 for each, text in zip(molecules, texts, strict=True)]  # fmt: skip
    for _ in range(int(rng.integers(3))):
        texts.insert(int(rng.integers(len(texts) + 1)), str(rng.choice(["", "# a remark", "  "])))
    newline = str(rng.choice(["\n", "\r\n"]))
    raw = newline.join([*texts, *([""] * int(rng.integers(2)))])
    charset = str(rng.choice(["utf-8", "utf-8-sig", "cp1252", "utf-16"]))
    return OddSource("odd.smi", raw.encode(charset), tuple(molecules), (), True, False)
