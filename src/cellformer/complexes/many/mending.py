"""Parts of a finished store that are damaged: which they are, and how they get their bytes back."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cellformer.basics.causes import raise_of_process
from cellformer.basics.sealed import sha256_of, sha256_of_stretch
from cellformer.complexes.many.growth import Growth
from cellformer.complexes.many.manifest import Manifest, again, read_manifest
from cellformer.complexes.many.parts import PARTS, PartOfArray, StoreError, StorePart, read_parts
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.writing import HEADER, Array, encoded, file_name, header, write_rows


@dataclass(frozen=True)
class Damage:
    """What of a store is not as it was written, apart from what is there beside its parts."""

    parts: Mapping[int, tuple[str, ...]]  # the arrays, for each part that has to be made again
    of: int  # so many parts are there

    def files(self, folder: Path) -> Mapping[Path, tuple[int, ...]]:
        """The parts that are damaged, for each file."""
        found: dict[Path, list[int]] = {}
        for number, names in self.parts.items():
            for name in names:
                found.setdefault(folder / file_name(name), []).append(number)
        return {file: tuple(numbers) for file, numbers in found.items()}


def damage_of(folder: Path) -> Damage:
    """Compares all parts of a store with their checksums.

    Raises StoreError where what tells of them is damaged itself, or there are none, as in a store
    of the first format: such a store can only be made again as a whole.
    """
    found = {}
    number = -1
    for number, (part, growth) in enumerate(_parts_of(folder, read_manifest(folder)[0])):
        names = tuple(
            name
            for name, entry in part.arrays.items()
            if _digest(folder / file_name(name), growth.end(name), entry.bytes) != entry.sha256
        )
        if names:
            found[number] = names
    return Damage(found, number + 1)


def mend(folder: Path, damage: Damage, made: Callable[[int], RaggedComplexes | None]) -> None:
    """Gives a store the bytes back that it was written with.

    ``made`` gives the complexes of a damaged part, which were made again. Nothing of the store is
    written unless their bytes are those that the checksums are of; if they are not, as where the
    source has changed, StoreError is raised. A process that is killed here leaves a store that is
    damaged still.
    """
    manifest, _ = read_manifest(folder)
    for stretch in _made_again(folder, manifest, damage, made):
        if stretch.digest() != stretch.entry.sha256:
            told = f"part {stretch.number} was made again, and is not what it was"
            raise StoreError(f"{stretch.file}: {told}", again(folder))
    for stretch in _made_again(folder, manifest, damage, made):
        if stretch.file.stem in damage.parts[stretch.number]:
            stretch.write()
    for name, each in manifest.arrays.items():
        file, expected = folder / file_name(name), header(np.dtype(each.dtype), each.shape)
        file.touch()
        with file.open("r+b") as stream:
            if stream.read(HEADER) != expected:
                stream.seek(0)
                stream.write(expected)
        if file.stat().st_size != each.bytes:
            os.truncate(file, each.bytes)


@dataclass(frozen=True)
class _Stretch:
    """What a part has of an array, made again."""

    number: int
    file: Path
    place: int  # the byte where it begins
    rows: Array
    shift: int  # what is added to them
    entry: PartOfArray

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.entry.dtype)

    def digest(self) -> str:
        """The SHA-256 of the bytes that it would have in the file."""
        digest = hashlib.sha256()
        for data in encoded(self.rows, self.shift, self.dtype):
            digest.update(data)
        return digest.hexdigest()

    def write(self) -> None:
        self.file.touch()
        write_rows(self.file, self.place, self.rows, self.shift, self.dtype)


def _made_again(
    folder: Path,
    manifest: Manifest,
    damage: Damage,
    made: Callable[[int], RaggedComplexes | None],
) -> Iterator[_Stretch]:
    """All that damaged parts have of the arrays; raises StoreError where it is not as much."""
    for number, (part, growth) in enumerate(_parts_of(folder, manifest)):
        if number not in damage.parts:
            continue
        complexes = made(number)
        if complexes is None or len(complexes) != part.complexes:
            found = 0 if complexes is None else len(complexes)
            told = f"part {number} was made again, with {found} complexes for {part.complexes}"
            raise StoreError(f"{folder}: {told}", again(folder))
        rows = {name: (new, shift) for name, new, shift in growth.new_rows(complexes)}
        for name, entry in part.arrays.items():
            new, shift = rows[name]
            place = growth.end(name)
            if entry.rows:
                yield _Stretch(number, folder / file_name(name), place, new, shift, entry)


def _parts_of(folder: Path, manifest: Manifest) -> Iterator[tuple[StorePart, Growth]]:
    """Each part, with what is there before it."""
    if manifest.parts is None or sha256_of(folder / PARTS) != manifest.parts:
        raise StoreError(f"{folder / PARTS} is damaged (its checksum differs)", again(folder))
    growth = Growth()
    for part in read_parts(folder):
        yield part, growth
        growth.count(part)


def _digest(file: Path, start: int, size: int) -> str | None:
    """Of some bytes of a file; None where they cannot be read."""
    try:
        return sha256_of_stretch(file, start, size)
    except OSError as error:
        raise_of_process(error)
        return None
