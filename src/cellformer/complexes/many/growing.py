"""A store to which one collection of complexes after the other is appended.

Its arrays lie in flat files from the beginning: nothing has to be merged at the end, and what was
appended can be removed where it came from.
"""

import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from cellformer.basics.causes import raise_of_process
from cellformer.basics.sealed import FaultError, sealed, sha256_of, sha256_of_stretch
from cellformer.complexes.many.growth import GrownArray, Growth
from cellformer.complexes.many.manifest import FORMAT_VERSION, MANIFEST
from cellformer.complexes.many.parts import (
    PARTS,
    PartOfArray,
    StoreError,
    StorePart,
    add_part,
    read_parts,
    replace_parts,
)
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.writing import (
    HEADER,
    NARROW,
    Array,
    file_name,
    header,
    kind_of,
    stored_type,
    write_rows,
)

logger = logging.getLogger(__name__)

WIDE = ".wide"
"""Of an array in a wider type, which is to take the place of the one that there is."""


class GrowingStore:
    """A store that is not finished, in a folder of its own, which one process may have open.

    A part counts from when its line is written, after its numbers. Wherever the process is killed,
    what the lines tell is there, and what lies behind it is cut off by the next `GrowingStore` of
    this folder. That one compares all numbers with their checksums, as a power cut may have kept a
    line and lost them; what comes from the first damaged part on is cut off too, which is told in
    the log. ``notes`` are those of the parts that are left. After an error, open it again.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.notes: list[str] = []
        self._growth = Growth()
        folder.mkdir(parents=True, exist_ok=True)
        _finish_widening(folder)
        (folder / MANIFEST).unlink(missing_ok=True)  # of a `finish` that was interrupted
        self._read()
        for file in folder.glob("*.npy"):
            grown = self._growth.arrays.get(file.stem)
            if grown is None:
                file.unlink()
            else:
                os.truncate(file, grown.end)

    @property
    def complexes(self) -> int:
        """How many there are."""
        return self._growth.complexes

    def append(self, ragged: RaggedComplexes | None, note: str = "") -> None:
        """Adds a part, whose arrays may be memory-mapped, or a note alone.

        Raises ValueError if it does not carry the features, encodings and targets of the others.
        """
        if ragged is None:
            part = StorePart(0, self._growth.ranks, self._growth.target_rank, {}, note)
        else:
            self._check_alike(ragged)
            written = {
                name: self._write(name, rows, shift)
                for name, rows, shift in self._growth.new_rows(ragged)
            }
            ranks = max(self._growth.ranks, len(ragged.ranks))
            part = StorePart(len(ragged), ranks, ragged.target_rank, written, note)
        add_part(self.folder, part)
        self._count(part)

    def finish(self, path: Path, meta: Mapping[str, Any]) -> None:
        """Makes it a store, at another place of this file system, whole or not at all.

        Raises ValueError if there are no complexes, FileExistsError if the place is taken.
        """
        if not self.complexes:
            raise ValueError("at least one collection is needed")
        arrays = {}
        for name, grown in self._growth.arrays.items():
            shape = (grown.rows, *grown.columns)
            with (self.folder / file_name(name)).open("r+b") as stream:
                stream.write(header(grown.dtype, shape))
                stream.truncate(grown.end)
            arrays[name] = {
                "dtype": grown.dtype.str, "shape": list(shape), "bytes": grown.end, "sha256": None,
            }  # fmt: skip
        manifest = {
            "format": FORMAT_VERSION,
            "complexes": self.complexes,
            "ranks": self._growth.ranks,
            "arrays": arrays,
            "target_rank": self._growth.target_rank,
            "parts": sha256_of(self.folder / PARTS),
            "meta": dict(meta),
        }
        text = json.dumps(sealed(manifest), indent=1)
        (self.folder / MANIFEST).write_text(text, encoding="utf-8")
        try:
            self.folder.rename(path)
        except OSError as error:
            if path.exists():  # another process was faster
                raise FileExistsError(f"{path} exists and is not overwritten") from error
            raise

    def _read(self) -> None:
        """Counts the parts that are whole, and cuts off the others."""
        if not (self.folder / PARTS).exists():
            return
        try:
            for part in read_parts(self.folder):
                self._check(part)
                self._count(part)
        except (OSError, ValueError) as error:
            raise_of_process(error)
            fault = error.fault if isinstance(error, FaultError) else str(error)
            logger.warning("%s; what follows part %d is made again", fault, len(self.notes))
        # Also where the last line is not whole: the next one would be added to it.
        replace_parts(self.folder, islice(read_parts(self.folder), len(self.notes)))

    def _check(self, part: StorePart) -> None:
        """Raises ValueError, naming the file, unless a part is what its line says."""
        for name, entry in part.arrays.items():
            file = self.folder / file_name(name)
            begin = self._growth.end(name)
            if sha256_of_stretch(file, begin, entry.bytes) != entry.sha256:
                raise ValueError(f"{file} is damaged (its checksum differs)")

    def _count(self, part: StorePart) -> None:
        self._growth.count(part)
        self.notes.append(part.note)

    def _check_alike(self, ragged: RaggedComplexes) -> None:
        if not self.complexes:
            return
        number = len(self.notes)
        file = self.folder / file_name("encoding_signs")
        if ragged.encoding_signs.tobytes() != file.read_bytes()[HEADER:]:
            raise ValueError(f"part {number} carries other encodings than part 0")
        for name, has, what in (
            ("targets", ragged.targets is not None, "targets"),
            ("descriptor_counts", ragged.descriptors is not None, "descriptors"),
        ):
            if has != (name in self._growth.arrays):
                raise ValueError(f"part {number} has {what} where part 0 has none, or the reverse")
        if ragged.target_rank != self._growth.target_rank:
            raise ValueError(f"part {number} has targets of other cells than part 0")

    def _write(self, name: str, rows: Array, shift: int) -> PartOfArray:
        """Writes rows behind those that count."""
        file = self.folder / file_name(name)
        dtype = stored_type(name, rows, shift)
        grown = self._growth.arrays.get(name)
        if grown is None:
            grown = GrownArray(dtype, rows.shape[1:])
            file.write_bytes(bytes(HEADER))
        elif not grown.rows and len(rows):
            grown = GrownArray(dtype, rows.shape[1:])
        elif len(rows):
            if rows.shape[1:] != grown.columns:
                raise ValueError(
                    f"{name}: part {len(self.notes)} has rows of shape {rows.shape[1:]}, those "
                    f"before of {grown.columns}; all complexes must carry the same features and "
                    "encodings"
                )
            if kind_of(name) in NARROW and dtype.itemsize > grown.dtype.itemsize:
                self._widen(name, dtype)
        digest = write_rows(file, grown.end, rows, shift, grown.dtype)
        return PartOfArray(grown.dtype.str, grown.columns, len(rows), digest)

    def _widen(self, name: str, dtype: np.dtype[Any]) -> None:
        """Gives all rows of an array another type, in a file that takes the place of the other."""
        file, grown = self.folder / file_name(name), self._growth.arrays[name]
        wide = file.with_name(f"{name}.{dtype.str[1:]}{WIDE}")
        wide.write_bytes(bytes(HEADER))
        old, new = GrownArray(grown.dtype, grown.columns), GrownArray(dtype, grown.columns)

        def widened(part: StorePart) -> StorePart:
            entry = part.arrays.get(name)
            if entry is None:
                return part
            if sha256_of_stretch(file, old.end, entry.bytes) != entry.sha256:
                raise StoreError(f"{file} is damaged (its checksum differs)", "do it again")
            count = entry.bytes // grown.dtype.itemsize
            rows = np.fromfile(file, grown.dtype, count, offset=old.end)
            digest = write_rows(wide, new.end, rows, 0, dtype)
            old.rows += entry.rows
            new.rows += entry.rows
            changed = PartOfArray(dtype.str, entry.columns, entry.rows, digest)
            return replace(part, arrays={**part.arrays, name: changed})

        replace_parts(self.folder, map(widened, read_parts(self.folder)))
        wide.replace(file)
        grown.dtype = dtype


def _finish_widening(folder: Path) -> None:
    """What `GrowingStore` was doing when it was killed: the lines tell which file counts."""
    left = list(folder.glob(f"*{WIDE}"))
    if not left:
        return
    types: dict[str, str] = {}
    with suppress(OSError, StoreError):  # the same is found, and told, a moment later
        for part in read_parts(folder):
            types |= {name: entry.dtype[1:] for name, entry in part.arrays.items()}
    for wide in left:
        name, _, kind = wide.name.removesuffix(WIDE).rpartition(".")
        if types.get(name) == kind:
            wide.replace(folder / file_name(name))
        else:
            wide.unlink()
