"""Damaged copies of files: a bit flipped, an end cut off, zeros, files swapped; all from a seed."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Damage:
    """What happens to one file of a folder."""

    file: str  # its path in the folder
    kind: str  # "flip", "cut", "zeros" or "swap"
    place: int  # the first byte that is concerned
    bit: int = 0  # of a flip
    other: str = ""  # the file that a swap exchanges it for

    def __call__(self, folder: Path) -> None:
        """Does it to the file in the folder."""
        path = folder / self.file
        if self.kind == "swap":
            data, others = path.read_bytes(), (folder / self.other).read_bytes()
            for file, content in ((path, others), (folder / self.other, data)):
                file.unlink()  # as below
                file.write_bytes(content)
            return
        changed = bytearray(path.read_bytes())
        if self.kind == "flip":
            changed[self.place] ^= 1 << self.bit
        elif self.kind == "cut":
            del changed[self.place :]
        else:
            stretch = changed[self.place : self.place + 512]  # a sector of a disk
            changed[self.place : self.place + 512] = bytes(len(stretch))
        path.unlink()  # what is mapped elsewhere stays as it is
        path.write_bytes(changed)


def damages(folder: Path, seed: int, kinds: tuple[str, ...] = ("flip",)) -> Iterator[Damage]:
    """Endless damages of the files of a folder; small files and headers are hit often."""
    rng = np.random.default_rng(seed)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    while True:
        path = files[rng.integers(len(files))]
        size = path.stat().st_size
        near = (min(size, 256), size, size)[rng.integers(3)]  # a header, or anywhere
        place = int(rng.integers(near))
        if rng.integers(4) == 0:  # or the end, where archives have their directory
            place = size - 1 - place
        kind = kinds[rng.integers(len(kinds))]
        bit = int(rng.integers(8))
        other = files[rng.integers(len(files))] if kind == "swap" else None
        yield Damage(
            path.relative_to(folder).as_posix(),
            kind,
            place,
            bit,
            other.relative_to(folder).as_posix() if other else "",
        )


def campaign(
    folder: Path,
    copy: Path,
    seed: int,
    seconds: float,
    kinds: tuple[str, ...] = ("flip",),
    most: int | None = None,
) -> Iterator[Damage]:
    """Damages a fresh copy of a folder, one damage after the other, until the time is over.

    Each damage is given when it has been done to ``copy``.
    """
    ends = time.monotonic() + seconds
    for number, damage in enumerate(damages(folder, seed, kinds)):
        if time.monotonic() > ends or number == most:
            return
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        damage(copy)
        yield damage
