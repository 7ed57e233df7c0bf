"""A store at a URL, of which those parts are fetched to this machine that are needed."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from cellformer.basics.bounded import BoundedFolder, NoRoomError
from cellformer.basics.cache import cache_entry
from cellformer.basics.checks import at_least
from cellformer.basics.files import replace_atomically
from cellformer.basics.sealed import sha256_of
from cellformer.basics.urls import files_at, reached
from cellformer.complexes.many.consistency import fault_of_cut, fault_of_shapes
from cellformer.complexes.many.late_parts import PartsOfStore, late_complexes
from cellformer.complexes.many.manifest import MANIFEST, Manifest, Meta, read_manifest
from cellformer.complexes.many.parts import PARTS, PartOfArray, StoreError
from cellformer.complexes.many.ragged import RaggedComplexes, RaggedRank
from cellformer.complexes.many.writing import file_name

KEPT_BYTES = 20_000_000_000
"""Of all fetched parts, unless `KEPT_VARIABLE` says another number."""
KEPT_VARIABLE = "CELLFORMER_REMOTE_BYTES"
PACKED = "packed"
"""The folder of a store in which its parts lie by themselves."""
ALIGNED = 64
"""Bytes that each array in the file of a part begins at a multiple of."""


def open_remote(
    url: str, cache_dir: str | os.PathLike[str] | None = None, kept_bytes: int | None = None
) -> tuple[RaggedComplexes, Meta]:
    """The complexes of a store at a URL that fsspec can read, and what was remembered with them.

    Its parts are fetched, and compared with their checksums, when some of them is first read, into
    ``cache_dir`` (the usual cache), of which no more than ``kept_bytes`` are kept. An array that is
    asked for as a whole is fetched as a whole. Raises StoreError, naming the URL and what to do,
    here and wherever something is read; ImportError where fsspec is not installed; ValueError where
    ``kept_bytes``, or what the environment says of them, is no number from 1 on.
    """
    store = RemoteStore.opened(url.rstrip("/"), cache_dir, kept_bytes)
    return store.complexes(), store.meta


def url_of(ragged: RaggedComplexes) -> str | None:
    """Where complexes lie that `open_remote` gave; None for others."""
    late = {id(store): store for rank in ragged.ranks if (store := _store_of(rank)) is not None}
    return next(iter(late.values())).url if len(late) == 1 else None


def _store_of(rank: RaggedRank) -> "RemoteStore | None":
    group = rank.late_arrays
    return group.store if isinstance(group, RemoteGroup) else None


@dataclass(eq=False)
class RemoteStore:
    """Where a store is, what it says of itself, and what of it is here."""

    url: str
    manifest: Manifest
    meta: Meta
    parts: PartsOfStore
    kept: BoundedFolder
    files: Any  # of fsspec
    root: str  # the path of the store in it
    packed: bool  # whether its parts are there by themselves too, compressed
    _whole: dict[str, NDArray[Any]] = field(default_factory=dict, init=False)

    @classmethod
    def opened(
        cls, url: str, cache_dir: str | os.PathLike[str] | None, kept_bytes: int | None
    ) -> "RemoteStore":
        """Fetches the manifest and the list of parts."""
        limit = most_kept() if kept_bytes is None else kept_bytes
        at_least(1, kept_bytes=limit)
        files, root = files_at(url, StoreError)
        with _told(url):
            told = files.cat_file(f"{root}/{MANIFEST}")
        name = hashlib.sha256(f"{url}\n".encode() + told).hexdigest()[:32]
        own = cache_entry("remote", name, cache_dir)
        own.mkdir(parents=True, exist_ok=True)
        _write(own / MANIFEST, told)
        try:
            manifest, meta = read_manifest(own)
            if manifest.parts is None:
                raise StoreError(f"{url} is a store of an earlier version", "prepare it again")
            if not (own / PARTS).exists() or sha256_of(own / PARTS) != manifest.parts:
                with _told(url):
                    _write(own / PARTS, files.cat_file(f"{root}/{PARTS}"))
            parts = PartsOfStore.of(own, manifest)
        except StoreError as error:
            fault = error.fault.replace(str(own), url)
            raise StoreError(fault, "put it there again from where it was prepared") from None
        kept = BoundedFolder(own.parent / "parts", limit)
        with _told(url):
            packed = files.exists(f"{root}/{_packed(0)}")
        return cls(url, manifest, meta, parts, kept, files, root, packed)

    @property
    def name(self) -> str:
        """Of this store in the cache."""
        return self.parts.folder.name

    def complexes(self) -> RaggedComplexes:
        """All of them, late but for what tells of each complex how large it is."""
        try:
            found = late_complexes(
                self.manifest, self.whole, lambda group, _: RemoteGroup(self, group)
            )
        except KeyError as error:
            raise self.fault(f"{MANIFEST} has no entry {error}") from None
        fault = fault_of_shapes(found)
        if fault is not None:
            raise self.fault(f"{file_name(fault[0])}: {fault[1]}")
        return found

    def fault(self, told: str) -> StoreError:
        """What is raised where something of the store is wrong."""
        return StoreError(f"{self.url}: {told}", "put it there again from where it was prepared")

    def whole(self, name: str) -> NDArray[Any]:
        """An array, all of whose parts have been compared."""
        if name not in self._whole:
            self._whole[name] = self._fetched(name)
        return self._whole[name]

    def _fetched(self, name: str) -> NDArray[Any]:
        known = self.manifest.arrays[name]
        dtype = np.dtype(known.dtype)
        if known.start == known.bytes:
            return np.zeros(known.shape, dtype)

        def fetch() -> bytes:
            with _told(self.url):
                place = self._place(name)
                return bytes(self.files.cat_file(place, start=known.start, end=known.bytes))

        def read(data: memoryview) -> NDArray[Any]:
            end = 0
            for part in range(len(self.parts)):
                entry = self.parts.arrays(part).get(name)
                if entry is not None and entry.rows:
                    self._compare(name, part, data[end : end + entry.bytes], entry)
                    end += entry.bytes
            return np.frombuffer(data, dtype).reshape(known.shape)

        with self._room():
            found: NDArray[Any] = self.kept.pinned(f"{self.name}-{name}", fetch, read)
        return found

    def part(self, number: int) -> Mapping[str, NDArray[Any]]:
        """The rows that a part has of each array, compared with their checksums."""

        def fetch() -> bytes:
            found = self.parts.stretches(number, self.manifest)
            if self.packed:
                size = sum(e.bytes + -e.bytes % ALIGNED for _, e, _ in found) or ALIGNED
                with _told(self.url):
                    data = self.files.cat_file(f"{self.root}/{_packed(number)}")
                    return bytes(_codec().decompress(data, size))
            places = [self._place(name) for name, _, _ in found]
            starts = [start for _, _, start in found]
            stops = [start + entry.bytes for _, entry, start in found]
            with _told(self.url):
                return _joined(self.files.cat_ranges(places, starts, stops, on_error="raise"))

        def read(data: memoryview) -> Mapping[str, NDArray[Any]]:
            found, end = {}, 0
            for name, entry, _ in self.parts.stretches(number, self.manifest):
                own = data[end : end + entry.bytes]
                self._compare(name, number, own, entry)
                array = np.frombuffer(own, np.dtype(entry.dtype))
                found[name] = array.reshape(entry.rows, *entry.columns)
                end += entry.bytes + -entry.bytes % ALIGNED
            for name in self.manifest.arrays.keys() - found.keys():
                known = self.manifest.arrays[name]
                rows = int(np.diff(self.rows_before(name)[number : number + 2])[0])
                found[name] = np.zeros((rows, *known.shape[1:]), np.dtype(known.dtype))
            self._check_indices(number, found)
            return found

        with self._room():
            made: Mapping[str, NDArray[Any]] = self.kept.get(
                f"{self.name}-{number:09d}", fetch, read
            )
        return made

    def rows_before(self, name: str) -> Int64[np.ndarray, " part_plus_1"]:
        """How many rows of an array lie before each part."""
        return self.parts.rows[:, self.parts.names.index(name)]

    def _place(self, name: str) -> str:
        return f"{self.root}/{file_name(name)}"

    def _compare(self, name: str, part: int, data: memoryview, entry: PartOfArray) -> None:
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            raise self.fault(f"{file_name(name)} is damaged (its checksum differs in part {part})")

    def _check_indices(self, number: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        below: NDArray[Any] | None = None
        first, last = self.parts.complexes[number : number + 2].tolist()
        for rank in range(self.manifest.ranks):
            whole = self.whole(f"rank{rank}_offsets")[first : last + 1]
            if last > first:
                group = {n: arrays[f"rank{rank}_{n}"] for n in RaggedRank.ARRAYS if n != "offsets"}
                offsets = whole - whole[0]
                fault = fault_of_cut(
                    RaggedRank(offsets=offsets, **self._with_first(rank, number, group)), below
                )
                if fault is not None:
                    told = f"rank{rank}_{fault[0]}.npy is damaged: {fault[1]}, in part {number}"
                    raise self.fault(told)
            below = whole

    def _with_first(
        self, rank: int, number: int, group: dict[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """With the offset of the first face, which ends the part before, and counted from there."""
        begin = int(self.rows_before(f"rank{rank}_faces")[number])
        ends = np.asarray(group["face_offsets"], np.int64) - begin
        if len(ends) == len(group["discrete"]):
            ends = np.concatenate([np.zeros(1, np.int64), ends])
        return {**group, "face_offsets": ends}

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Where what is kept is too much, it is told with the way out."""
        try:
            yield
        except NoRoomError as error:
            cure = f"allow more ({KEPT_VARIABLE}), or copy the store to this machine"
            raise StoreError(f"{self.url} cannot be read: {error}", cure) from None


class RemoteGroup:
    """The arrays of a store at a URL that belong together; see `cellformer.complexes.late`."""

    def __init__(self, store: RemoteStore, group: str):
        self.store = store
        self._group = group

    def lying(self, name: str) -> NDArray[Any]:
        """An array without numbers, of the shape and type of the one that lies there."""
        known = self.store.manifest.arrays[self._group + name]
        return np.broadcast_to(np.zeros((), np.dtype(known.dtype)), known.shape)

    def whole(self, name: str) -> NDArray[Any]:
        """An array, fetched and compared."""
        return self.store.whole(self._group + name)

    def some(self, complexes: Int64[np.ndarray, " chosen"]) -> Mapping[str, Any]:
        """What can be asked for the rows of these complexes, part by part."""
        names = (n for n in self.store.manifest.arrays if n.startswith(self._group))
        return {
            name.removeprefix(self._group): (
                _FaceOffsets if name.endswith("_face_offsets") else _Rows
            )(self.store, name)
            for name in names
        }


@dataclass(frozen=True, eq=False)
class _Rows:
    """An array that is asked for some of its rows."""

    store: RemoteStore
    name: str

    def __getitem__(self, rows: Int64[np.ndarray, " chosen"]) -> NDArray[Any]:
        before = self.store.rows_before(self.name)
        known = self.store.manifest.arrays[self.name]
        found = np.empty((len(rows), *known.shape[1:]), np.dtype(known.dtype))
        if not found.size:
            return found
        parts = np.searchsorted(before, rows, side="right") - 1
        for part in np.unique(parts).tolist():
            own = parts == part
            found[own] = self.store.part(part)[self.name][rows[own] - before[part]]
        return found


class _FaceOffsets(_Rows):
    """Where the faces of cells begin and end; where a part ends is known without reading it."""

    def __getitem__(self, rows: Int64[np.ndarray, " chosen"]) -> NDArray[Any]:
        before = self.store.rows_before(self.name)
        faces = self.store.rows_before(self.name.replace("face_offsets", "faces"))
        parts = np.searchsorted(before, rows, side="right") - 1
        last = rows == before[np.minimum(parts + 1, len(before) - 1)] - 1
        found = np.where(last, faces[np.minimum(parts + 1, len(faces) - 1)], 0).astype(np.int64)
        within = ~last & (rows > 0)
        found[within] = super().__getitem__(rows[within])
        return found


def most_kept() -> int:
    """Bytes of fetched parts, by the environment; raises ValueError where that has no number."""
    told = os.environ.get(KEPT_VARIABLE, str(KEPT_BYTES))
    if not told.isdecimal() or not int(told):
        raise ValueError(f"{KEPT_VARIABLE} must be a number of bytes, at least 1, got {told!r}")
    return int(told)


def put_store(folder: str | os.PathLike[str], url: str, packed: bool = False) -> None:
    """Copies a store to a URL, where it counts when all of it is there; what is there stays.

    ``packed`` puts each of its parts there by itself too, compressed (Zstandard), which is what is
    fetched then. Raises StoreError, naming the URL or a file of the folder.
    """
    path = Path(folder)
    manifest, _ = read_manifest(path)
    if is_store_at(url):
        return
    files, root = files_at(url, StoreError)
    parts = PartsOfStore.of(path, manifest)
    with _told(url):
        files.makedirs(f"{root}/{PACKED}" if packed else root, exist_ok=True)
        for number in range(len(parts)) if packed else ():
            stretches = [
                _stretch(path / file_name(name), start, entry.bytes)
                for name, entry, start in parts.stretches(number, manifest)
            ]
            files.pipe_file(f"{root}/{_packed(number)}", _codec().compress(_joined(stretches)))
        for name in (*map(file_name, manifest.arrays), PARTS, MANIFEST):
            files.put_file(str(path / name), f"{root}/{name}")


def _stretch(file: Path, start: int, size: int) -> bytes:
    with file.open("rb") as stream:
        stream.seek(start)
        return stream.read(size)


def _joined(stretches: Iterable[bytes]) -> bytes:
    """The file of a part, from what it has of each array."""
    return b"".join(own + bytes(-len(own) % ALIGNED) for own in stretches) or bytes(ALIGNED)


def _packed(number: int) -> str:
    """The place of a part that is there by itself."""
    return f"{PACKED}/{number:09d}.zst"


def _codec() -> Any:
    import pyarrow

    return pyarrow.Codec("zstd", compression_level=3)


def is_store_at(url: str) -> bool:
    """Whether there is a store; raises StoreError where that cannot be told."""
    files, root = files_at(url, StoreError)
    with _told(url):
        return bool(files.exists(f"{root}/{MANIFEST}"))


@contextmanager
def _told(url: str) -> Iterator[None]:
    """What fails within is told with the URL."""
    try:
        with reached(url, StoreError):
            yield
    except FileNotFoundError:
        raise StoreError(
            f"{url} is not a store of complexes, or is not whole", "prepare the data first"
        ) from None


def _write(file: Path, data: bytes) -> None:
    with replace_atomically(file, durable=False) as unfinished:
        unfinished.write_bytes(data)
