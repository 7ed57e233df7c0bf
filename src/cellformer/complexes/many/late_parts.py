"""A store whose parts are compared with their checksums when they are first read."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from cellformer.basics.causes import raise_of_process
from cellformer.basics.sealed import sha256_of, sha256_of_stretch
from cellformer.basics.verified import VerifiedPieces
from cellformer.complexes.descriptors import Descriptors
from cellformer.complexes.late import LateArrays
from cellformer.complexes.many.consistency import fault_of_part, fault_of_shapes
from cellformer.complexes.many.manifest import Manifest, again
from cellformer.complexes.many.parts import PARTS, PartOfArray, StoreError
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.many.writing import file_name

DAMAGED = "damaged.txt"
"""Beside the arrays, what was found damaged after the store had been opened."""
MENDED = "begin again: what was prepared is mended then, anything else has to be made again"


@dataclass(frozen=True, eq=False)
class PartsOfStore:
    """Where each part of a store begins; little is kept of it."""

    folder: Path
    names: tuple[str, ...]
    complexes: Int64[np.ndarray, " part_plus_1"]
    """Part p has the complexes ``complexes[p]`` to ``complexes[p + 1]``."""
    rows: Int64[np.ndarray, "part_plus_1 array"]
    """And of each array these rows."""
    lines: Int64[np.ndarray, " part"]  # where its line begins in the file of parts

    @classmethod
    def of(cls, folder: Path, manifest: Manifest) -> "PartsOfStore":
        """Raises StoreError where the list of parts is damaged."""
        file = folder / PARTS
        if manifest.parts is None or sha256_of(file) != manifest.parts:
            raise StoreError(f"{file} is damaged (its checksum differs)", again(folder))
        names = tuple(manifest.arrays)
        counts, rows, lines = [0], [[0] * len(names)], [0]
        with file.open("rb") as stream:
            for line in stream:  # as it was written, so nothing of it has to be checked
                told = json.loads(line)
                arrays = told["arrays"]
                counts.append(told["complexes"])
                rows.append([arrays[name]["rows"] if name in arrays else 0 for name in names])
                lines.append(lines[-1] + len(line))
        found = cls(
            folder,
            names,
            np.cumsum(counts, dtype=np.int64),
            np.cumsum(np.asarray(rows, np.int64), axis=0),
            np.asarray(lines[:-1], np.int64),
        )
        for column, name in enumerate(names):
            if found.rows[-1, column] != manifest.arrays[name].shape[0]:
                raise StoreError(f"{file} tells of other parts of {name}", again(folder))
        return found

    def __len__(self) -> int:
        return len(self.lines)

    def of_complexes(self, complexes: Int64[np.ndarray, " chosen"]) -> Int64[np.ndarray, " chosen"]:
        """The part of each complex."""
        return np.searchsorted(self.complexes, complexes, side="right") - 1

    def arrays(self, part: int) -> Mapping[str, PartOfArray]:
        """What is recorded of the arrays of a part."""
        with (self.folder / PARTS).open("rb") as stream:
            stream.seek(int(self.lines[part]))
            told = json.loads(stream.readline())["arrays"]  # compared when it was opened
        return {
            name: PartOfArray(each["dtype"], tuple(each["columns"]), each["rows"], each["sha256"])
            for name, each in told.items()
        }

    def stretches(self, part: int, manifest: Manifest) -> list[tuple[str, PartOfArray, int]]:
        """The arrays that have bytes of a part, and the byte of each file where these begin."""
        found = []
        for name, entry in self.arrays(part).items():
            if entry.rows and entry.bytes:
                row = int(self.rows[part, self.names.index(name)])
                begin = manifest.arrays[name].start + row * (entry.bytes // entry.rows)
                found.append((name, entry, begin))
        return found


def late_complexes(
    manifest: Manifest,
    whole: Callable[[str], NDArray[Any]],
    group: Callable[[str, Int64[np.ndarray, " complex_plus_1"] | None], LateArrays],
) -> RaggedComplexes:
    """All of a store, late but for what tells of each complex how large it is.

    ``whole`` gives an array by its name, and ``group`` those whose names begin so, which may need
    the offsets of the rank below. Raises KeyError where an array is missing, and what these raise.
    """
    ranks: list[RaggedRank] = []
    for number in range(manifest.ranks):
        late = group(f"rank{number}_", ranks[-1].offsets if ranks else None)
        for name in RaggedRank.ARRAYS:
            late.lying(name)
        ranks.append(RaggedRank.late(late, offsets=whole(f"rank{number}_offsets")))
    described = "descriptor_counts" in manifest.arrays
    targets = whole("targets") if "targets" in manifest.arrays else None
    return RaggedComplexes(
        tuple(ranks),
        whole("encoding_signs"),
        targets,
        manifest.target_rank,
        Descriptors.late(group("descriptor_", None)) if described else None,
    )


class LateGroup:
    """The arrays that belong together, as those of a rank or the descriptors, of all parts.

    ``group`` is what their names in the store begin with. See `cellformer.complexes.late`.
    """

    def __init__(
        self,
        store: "LateStore",
        group: str,
        below: Int64[np.ndarray, " complex_plus_1"] | None = None,
    ):
        self._store = store
        self._group = group
        self._below = below  # the offsets of the rank below
        own = (name for name in store.arrays if name.startswith(group))
        self._names = {name.removeprefix(group): name for name in own}
        self._arrays = {short: store.arrays[name] for short, name in self._names.items()}
        self._right = np.zeros(len(store.parts), bool)  # the parts that need not be looked at

    def lying(self, name: str) -> NDArray[Any]:
        """An array as it lies there."""
        return self._arrays[name]

    def whole(self, name: str) -> NDArray[Any]:
        """An array, all of whose parts have been compared."""
        if name in ("face_offsets", "faces", "signs"):  # which have to fit each other
            self._look_at(np.arange(len(self._right)))
        else:
            found = self._store.whole(self._names[name])
            if name == "discrete" and found.size and found.min() < 0:
                raise self._store.damaged(self._names[name], "it holds a negative category")
        return self._arrays[name]

    def some(self, complexes: Int64[np.ndarray, " chosen"]) -> Mapping[str, NDArray[Any]]:
        """All arrays, of which the parts of these complexes have been compared."""
        parts = self._store.parts.of_complexes(complexes)
        if not self._right[parts].all():
            self._look_at(np.unique(parts))
        return self._arrays

    def _look_at(self, parts: Int64[np.ndarray, " some"]) -> None:
        store = self._store
        for part in parts[~self._right[parts]].tolist():
            piece = f"{self._group} {part}"
            if not store.record.holds(piece):
                store.compare(part, self._names.values())
                self._check_indices(part)
                store.record.add(piece)
            self._right[part] = True

    def _check_indices(self, part: int) -> None:
        if not self._group.startswith("rank"):
            return
        first, last = self._store.parts.complexes[part : part + 2].tolist()
        rank = RaggedRank(*(self._arrays[name] for name in RaggedRank.ARRAYS))
        fault = fault_of_part(rank, self._below, first, last)
        if fault is not None:
            name, told = fault
            raise self._store.damaged(self._names[name], told, part)


class LateStore:
    """What is known of the parts of a store; see `PartsOfStore` and `LateGroup`."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        arrays: Mapping[str, NDArray[Any]],
        record: VerifiedPieces,
    ):
        self.arrays = arrays
        self.record = record
        self.parts = PartsOfStore.of(folder, manifest)
        self._manifest = manifest
        self._folder = folder

    def complexes(self) -> RaggedComplexes:
        """All of them, late but for what tells of each complex how large it is.

        Raises KeyError where an array is missing, and StoreError where one is wrong already.
        """
        found = late_complexes(self._manifest, self.whole, partial(LateGroup, self))
        fault = fault_of_shapes(found)
        if fault is not None:
            raise StoreError(
                f"{self._folder / file_name(fault[0])}: {fault[1]}", again(self._folder)
            )
        return found

    def whole(self, name: str) -> NDArray[Any]:
        """An array, all of whose parts have been compared, once.

        Raises StoreError, naming the file and the part, and KeyError where there is no such array.
        """
        piece = f"all {name}"
        if not self.record.holds(piece):
            for part in range(len(self.parts)):
                self.compare(part, [name])
            self.record.add(piece)
        return self.arrays[name]

    def compare(self, part: int, names: Iterable[str]) -> None:
        """What a part has of some arrays; raises StoreError, naming the file and the part."""
        wanted = {*names}
        for name, entry, begin in self.parts.stretches(part, self._manifest):
            if name not in wanted or self.record.holds(f"all {name}"):
                continue
            try:
                found = sha256_of_stretch(self._folder / file_name(name), begin, entry.bytes)
            except OSError as error:
                raise_of_process(error)
                raise self.damaged(name, f"it cannot be read ({error})", part) from None
            if found != entry.sha256:
                raise self.damaged(name, "its checksum differs", part)

    def damaged(self, name: str, told: str, part: int | None = None) -> StoreError:
        """What is raised; written down where the next one to open the store looks for it."""
        file = self._folder / file_name(name)
        where = "" if part is None else f" in part {part}"
        fault = f"{file} is damaged ({told}{where})"
        with suppress(OSError):  # nobody may be able to write there, and nobody could mend it then
            (self._folder / DAMAGED).write_text(f"{fault}\n", encoding="utf-8")
        return StoreError(fault, MENDED)
