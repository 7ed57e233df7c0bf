"""Odd tables of all formats through ``cellformer train`` and ``cellformer predict``."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from campaign.commands import Commands
from campaign.engine import BrokenError
from campaign.sources import OddSource, odd_source
from tiny import SMILES

Rng = np.random.Generator

SMALL = (
    "--epochs", "1", "--model.width", "8", "--model.layers", "1", "--model.heads", "2",
    "--data.encodings", "rwpe:2", "--data.molecule_descriptors", "none", "--device", "cpu",
    "--training.logger", "none",
)  # fmt: skip
"""What makes a training take a moment."""
WEIRD = (
    "", " ", "nan", "C1CC", "c1cccc1", "[CH999]", "C" * 3000, "not a molecule", "CCO.CCO>>CC=O",
    "CCO ethanol", "[Xx]", "C(C)(C)(C)(C)C", "ÖÄÜ", "C\u200bC", "=1+1", "-", "[H]", "*", "[Fe]",
    "{CCO}", "CC\u00a0O", "InChI=1S/CH4/h1H4", "1", "C%99CC%99", "((((", "\U0001f9ea", "N/A", "@",
)  # fmt: skip
NOTES = ("a note", "x,y", "x;y", 'say "so"', "two\nlines", "tab\there", "", " ", "ÄÖ€", "'", "0012",
         "1,5", "=SUM(A1)", "z" * 5000, "NA", "\u202eright", "a\rb", "\\n", "|", "-", "None",
         )  # fmt: skip
USUAL = "smiles"
MARKS = ("", "NA", "n/a", "-", "nan", "NULL", "None", "?", "missing", "#N/A", " ")
UNITS = ("", "", "", " mg/L", " %", "°C", "µM", " kJ/mol")


@dataclass(frozen=True)
class OddTable:
    """A table as it was meant, and the bytes of its file."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    separator: str
    charset: str
    raw: bytes
    values: tuple[float | None, ...]  # of the column y, None where it has no number
    mended: bool  # whether its file is a table as csv writes it
    molecules: str  # name of the column that has them


class Tables:
    """Half are delimited text. Two thirds are predicted, by a run of before; the others train."""

    def __init__(self, folder: Path, commands: Commands):
        self.commands = commands
        self.counts: Counter[str] = Counter()
        self.folder = folder
        lines = "".join(f"{smiles},{len(smiles) / 2}\n" for smiles in SMILES)
        (folder / "right.csv").write_text(f"smiles,y\n{lines}", encoding="utf-8")
        self.env = {"CELLFORMER_CACHE": str(folder / "cache")}
        self._done("train", "right.csv", "--target", "y", "-o", "run", *SMALL)
        self._done("predict", "run", "right.csv", "-o", "out.csv")
        written = _read((folder / "out.csv").read_text("utf-8"), ",")
        self.right = {row[0]: float(row[2]) for row in written[1:]}

    def _done(self, *words: str) -> None:
        ended = self.commands(self.folder, *words, env=self.env)
        if ended.code:
            raise RuntimeError(ended.err)

    def case(self, rng: Rng, folder: Path) -> Sequence[str]:
        """Raises BrokenError where a row is lost, or a failure is not told in one line."""
        if rng.integers(2):
            return self._source(odd_source(rng), str(rng.choice(["csv", "csv", "parquet"])),
                                folder, train=not rng.integers(3))  # fmt: skip
        table = odd_table(rng)
        (folder / "odd.csv").write_bytes(table.raw)
        self.counts["rows"] += len(table.rows)
        if rng.integers(3):
            return self._predict(table, folder)
        return self._train(table, folder)

    def _predict(self, table: OddTable, folder: Path) -> Sequence[str]:
        ended = self.commands(
            folder, "predict", self.folder / "run", "odd.csv", "-o", "out.csv", env=self.env
        )
        said = ended.said("odd.csv", "rows could not be predicted")
        if not (folder / "out.csv").exists():
            if ended.code == 0 or (table.mended and table.molecules == USUAL):
                raise BrokenError(f"a table was not read: {said or 'nothing was written'}")
            return [said]
        if not table.mended:
            return [said]
        raw = (folder / "out.csv").read_bytes()
        written = _read(raw.decode("utf-8-sig"), ending_separator(table.separator))
        head, rows = written[0], written[1:]
        width = len(table.header)
        if tuple(head[:width]) != table.header:
            raise BrokenError(f"the header {table.header} became {head}")
        kept = [tuple(row[:width]) for row in rows]
        if kept != [*table.rows]:
            lost = next((i for i, (a, b) in enumerate(zip(kept, table.rows, strict=False))
                         if a != b), min(len(kept), len(table.rows)))  # fmt: skip
            raise BrokenError(
                f"{len(table.rows)} rows became {len(kept)}, the first other one is {lost}: "
                f"{table.rows[lost : lost + 1]} and {kept[lost : lost + 1]}"
            )
        prediction, error = width, len(head) - 1  # named otherwise where the table has such names
        for row in rows:
            if bool(row[prediction]) == bool(row[error]):
                raise BrokenError(f"neither a prediction nor a reason, or both: {row}")
            if "\n" in row[error] or len(row[error]) > 500:
                raise BrokenError(f"a reason is not one line: {row[error]!r}")
            self._judge(row[table.header.index(table.molecules)], _number(row[prediction]))
        return [said, *{row[error] for row in rows if row[error]}]

    def _source(self, source: OddSource, ending: str, folder: Path, train: bool) -> Sequence[str]:
        """A file of another format than delimited text."""
        (folder / source.name).write_bytes(source.raw)
        self.counts["rows"] += len(source.molecules)
        if train:
            words = ("train", source.name, "--target", "y", "-o", "run", *SMALL)
            ended = self.commands(folder, *words, env=self.env)
            said = ended.said("odd", "training", "data.")
            if ended.code == 0 and source.learned:
                with (folder / "run/predictions.csv").open(newline="", encoding="utf-8") as file:
                    for row in csv.DictReader(file):
                        _learned(source.values, row)
            return [said]
        out = f"out.{ending}"
        ended = self.commands(folder, "predict", self.folder / "run", source.name, "-o", out,
                              env=self.env)  # fmt: skip
        said = ended.said(source.name, "out.parquet", "rows could not be predicted")
        if not (folder / out).exists():
            if ended.code == 0 or source.whole:
                raise BrokenError(f"{source.name} was not read: {said or 'nothing was written'}")
            return [said]
        if ending == "csv":
            head, *rows = _read((folder / out).read_text("utf-8-sig"), ",")
        else:
            found = pyarrow.parquet.read_table(folder / out)
            if source.name == "odd.parquet" and source.whole:
                _as_before(pyarrow.parquet.read_table(folder / source.name), found)
            head = found.column_names
            told = [column.to_pylist() for column in found.columns]
            rows = [
                ["" if cell is None else str(cell) for cell in row]
                for row in zip(*told, strict=True)
            ]
        at = max(place for place, name in enumerate(head) if name.startswith("prediction"))
        if not source.whole:
            return [said]
        if len(rows) != len(source.molecules):
            raise BrokenError(f"{len(source.molecules)} rows became {len(rows)}")
        for number, (row, molecule) in enumerate(zip(rows, source.molecules, strict=True)):
            if bool(row[at]) == bool(row[-1]) or "\n" in row[-1] or len(row[-1]) > 500:
                raise BrokenError(
                    f"neither a prediction nor a reason, or both, or not a line: {row}"
                )
            if molecule is None and row[at]:
                raise BrokenError(f"row {number} is no molecule and was predicted: {row}")
            predicted = _number(row[at])
            if molecule and not abs(predicted - self.right[molecule]) < 1e-4:
                raise BrokenError(f"row {number}, {molecule}, is {predicted} and alone "
                                  f"{self.right[molecule]}: {row[-1]}")  # fmt: skip
        return [said, *{row[-1] for row in rows if row[-1]}]

    def _judge(self, cell: str, predicted: float) -> None:
        text = cell.strip()
        if text in self.right and not abs(predicted - self.right[text]) < 1e-4:
            raise BrokenError(f"{text} is predicted as {predicted}, alone as {self.right[text]}")

    def _train(self, table: OddTable, folder: Path) -> Sequence[str]:
        ended = self.commands(
            folder, "train", "odd.csv", "--target", "y", "-o", "run", *SMALL, env=self.env
        )
        said = ended.said("odd.csv", "odd:", "training", "data.")
        if ended.code == 0 and table.mended:
            with (folder / "run/predictions.csv").open(newline="", encoding="utf-8") as file:
                for row in csv.DictReader(file):
                    _learned(table.values, row)
        return [said]


def _number(cell: str) -> float:
    """A prediction, written as the numbers of its table are; NaN for none."""
    return float(cell.replace(",", ".") or "nan")


def _learned(values: Sequence[float | None], row: dict[str, str]) -> None:
    """What was learned is what the table means."""
    right = values[int(row["row"])]
    try:
        known = float(row["truth"])
    except (KeyError, ValueError):
        raise BrokenError(f"numbers became something else: {row}") from None
    if right is None or abs(known - right) > 1e-3 * max(1.0, abs(right)):
        raise BrokenError(f"row {row['row']} means {right} and was read as {known}")


def _as_before(table: "pa.Table", found: "pa.Table") -> None:
    """All columns are kept with their values, and nothing but new ones is added."""
    for at, name in enumerate(table.column_names):
        if pa.types.is_map(table.schema.field(at).type):
            continue  # is JSON afterwards, as mappings are everywhere else
        before, after = (_cells(each.column(at)) for each in (table, found))
        if found.column_names[at] != name or before != after:
            raise BrokenError(f"column {name!r} of {table.schema.field(at).type} is changed: "
                              f"{before[:9]} to {after[:9]}"[:1500])  # fmt: skip


def _cells(column: "pa.ChunkedArray") -> list[str]:
    """As Python writes them; a number that is none is missing."""
    return ["None" if cell != cell else repr(cell) for cell in column.to_pylist()]


def ending_separator(separator: str) -> str:
    """That of a .csv file which is written after one with this separator."""
    return "," if separator == "\t" else separator


def odd_table(rng: Rng) -> OddTable:
    """A table of molecules, numbers and notes, written in one of many ways."""
    separator = str(rng.choice([",", ";", "\t", "|"]))
    charset = str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    newline = str(rng.choice(["\n", "\r\n"]))
    count = int(rng.choice([1, 2, 12, 40]))
    comma = separator != "," and bool(rng.integers(2))
    unit, mark = str(rng.choice(UNITS)), str(rng.choice(MARKS))
    strange = float(rng.choice([0.0, 0.1, 0.5]))
    missing = float(rng.choice([0.0, 0.0, 0.2]))
    rows, values = [], []
    for _ in range(count):
        smiles = str(rng.choice(WEIRD if rng.random() < strange else SMILES))
        value = float(np.round(rng.normal() * 10.0 ** rng.integers(-2, 4), 4))
        blank = bool(rng.random() < missing)
        text = mark if blank else f"{value}{unit}"
        rows.append([smiles, text.replace(".", ",") if comma and not blank else text,
                     str(rng.choice(NOTES))])  # fmt: skip
        values.append(None if blank else value)
    molecules = str(rng.choice([USUAL, USUAL, "Struktur"]))  # the other is known by its cells
    header = [molecules, "y", str(rng.choice(["note", "Notiz, lang", "y ", "prediction", "error",
                                             "", "smiles", "y"]))]  # fmt: skip
    if charset == "cp1252":
        rows = [[_in_charset(cell) for cell in row] for row in rows]
    columns = rng.permutation(3) if rng.integers(2) else np.arange(3)
    header = [header[at] for at in columns]
    rows = [[row[at] for at in columns] for row in rows]
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if rng.integers(3) == 0 else csv.QUOTE_MINIMAL
    if any("\r" in cell for row in rows for cell in row):
        quoting = csv.QUOTE_ALL  # Python's csv leaves such a line break bare
    writer = csv.writer(text, delimiter=separator, lineterminator=newline, quoting=quoting)
    writer.writerow(header)
    writer.writerows(rows)
    raw, mended = _spoiled(rng, text.getvalue(), newline, separator)
    mended = mended and header.count(molecules) == header.count("y") == 1
    mended = mended and header.count(USUAL) == (molecules == USUAL)
    return OddTable(tuple(header), tuple(map(tuple, rows)), separator, charset,
                    raw.encode(charset, "replace"), tuple(values), mended, molecules)  # fmt: skip


def _in_charset(text: str) -> str:
    return text.encode("cp1252", "replace").decode("cp1252")


def _spoiled(rng: Rng, text: str, newline: str, separator: str) -> tuple[str, bool]:
    """The text, in half of the cases with something else than a program writes."""
    match rng.integers(12):
        case 0:
            return text.removesuffix(newline), True
        case 1:
            return text + newline * 3, True
        case 2:
            return text + newline.join(["", " ", ""]), False
        case 3:  # a cell too many, in some line
            place = int(rng.integers(len(text)))
            return text[:place] + separator + text[place:], False
        case 4:  # a quote that is not closed
            place = int(rng.integers(len(text)))
            return text[:place] + '"' + text[place:], False
        case 5:  # cut off anywhere
            return text[: int(rng.integers(len(text)))], False
        case 6:
            place = int(rng.integers(len(text)))
            return text[:place] + "\0" + text[place:], False
        case _:
            return text, True


def _read(text: str, separator: str) -> list[list[str]]:
    csv.field_size_limit(1 << 30)
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
