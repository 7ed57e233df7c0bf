"""What is recorded of the parts of a store, in the order in which they were appended.

A line of JSON for each part, with a checksum: a process that is killed leaves at most a part of the
last line, which does not count.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from cellformer.basics.decoding import decoded
from cellformer.basics.files import replace_atomically
from cellformer.basics.sealed import FaultError, sealed, unsealed

AGAIN = "delete the folder and make it again"
PARTS = "parts.jsonl"
"""The file of a store that holds the lines."""


class StoreError(FaultError):
    """A store that is missing, incomplete, damaged, or of another format."""


@dataclass(frozen=True)
class PartOfArray:
    """The rows of an array that came with a part."""

    dtype: str
    columns: tuple[int, ...]  # the shape of a row
    rows: int
    sha256: str  # of the bytes of these rows

    @property
    def bytes(self) -> int:
        """Of these rows."""
        return self.rows * np.dtype(self.dtype).itemsize * int(np.prod(self.columns))


@dataclass(frozen=True)
class StorePart:
    """One collection of complexes that was appended; none where ``complexes`` is 0."""

    complexes: int
    ranks: int
    target_rank: int | None
    arrays: Mapping[str, PartOfArray]  # those of which rows came with it
    note: str = ""  # what its writer wishes to remember

    def line(self) -> str:
        """Of the file of all parts."""
        return json.dumps(sealed(asdict(self)), separators=(",", ":")) + "\n"


def part_of(line: str, where: str) -> StorePart:
    """Raises StoreError, naming ``where`` it stands, for anything but a line of `StorePart`."""
    try:
        return decoded(StorePart, unsealed(json.loads(line), where), where)
    except FaultError as error:
        raise StoreError(error.fault, AGAIN) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"{where} is damaged ({error})", AGAIN) from None


def read_parts(folder: Path) -> Iterator[StorePart]:
    """Those of a store, in their order; raises StoreError, naming the line, at a damaged one.

    A last line without an end is none.
    """
    file = folder / PARTS
    with file.open(encoding="utf-8", errors="replace") as stream:
        for number, line in enumerate(stream, start=1):
            where = f"{file}, line {number}"
            if not line.endswith("\n"):
                return
            yield part_of(line, where)


def add_part(folder: Path, part: StorePart) -> None:
    """As the last one."""
    with (folder / PARTS).open("a", encoding="utf-8") as stream:
        stream.write(part.line())


def replace_parts(folder: Path, parts: Iterable[StorePart]) -> None:
    """Writes all parts anew, or nothing."""
    with (
        replace_atomically(folder / PARTS, durable=False) as unfinished,
        unfinished.open("w", encoding="utf-8") as stream,
    ):
        stream.writelines(part.line() for part in parts)
