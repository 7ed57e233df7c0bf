"""ZINC as "Benchmarking Graph Neural Networks" published it: ``molecules.zip`` and index files.

The archive holds ``train.pickle``, ``val.pickle`` and ``test.pickle``: lists of dictionaries with
``atom_type`` and ``bond_type`` (a dense matrix) as PyTorch tensors and the target. They are read
by `read_pickle` and never run.
Source: Dwivedi et al., arXiv:2003.00982.
"""

import io
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.archives import one_line, opened_archive
from cellformer.basics.progress import progress
from cellformer.data.dataset import PARTS, GraphSet, Task
from cellformer.data.flat import FlatGraphs
from cellformer.data.readers.restricted import (
    NUMPY_NAMES,
    Record,
    RefusedPickleError,
    RestrictedUnpickler,
    read_pickle,
)

TARGET = "logP_SA_cycle_normalized"


class StorageRecord(Record):
    """A tensor's numbers as ``torch.save`` packed them before version 1.6."""

    def flat(self) -> NDArray[Any]:
        """All of them; raises RefusedPickleError where the content is anything else."""
        match self.given:
            case (bytes(packed),):
                stream = io.BytesIO(packed)
            case _:
                raise RefusedPickleError("a storage has no content")
        try:
            # Magic number, version, properties of the machine, storage, its key; then the numbers.
            parts = [RestrictedUnpickler(stream, STORAGE_NAMES).load() for _ in range(5)]
            _, kind, _, _, length, *_ = parts[3]
            size = int.from_bytes(stream.read(8), "little")
            numbers = np.frombuffer(stream.read(), kind.DTYPE)
        except (pickle.UnpicklingError, EOFError, TypeError, LookupError, AttributeError) as error:
            raise RefusedPickleError(f"a storage is damaged ({error})") from None
        if not parts[2]["little_endian"] or not len(numbers) == size == length:
            raise RefusedPickleError("a storage is cut short, or from a big-endian machine")
        return numbers


class TensorRecord(Record):
    """A PyTorch tensor: a storage with offset, size and stride."""

    def array(self) -> NDArray[Any]:
        """The numbers; raises RefusedPickleError unless the tensor is contiguous."""
        match self.given:
            case (StorageRecord() as storage, 0, tuple(size), tuple(_), *_):
                numbers = storage.flat()
            case _:
                raise RefusedPickleError("a tensor has no valid description")
        contiguous = tuple(int(np.prod(size[axis + 1 :])) for axis in range(len(size)))
        if self.given[3] != contiguous or len(numbers) != np.prod(size):
            raise RefusedPickleError("a tensor is not stored as a whole")
        return numbers.reshape(size)


def _storage(dtype: str) -> type:
    return type("TypeRecord", (Record,), {"DTYPE": dtype})


STORAGE_NAMES: Mapping[tuple[str, str], type] = {
    ("torch", "ByteStorage"): _storage("u1"),
    ("torch", "CharStorage"): _storage("i1"),
    ("torch", "ShortStorage"): _storage("<i2"),
    ("torch", "IntStorage"): _storage("<i4"),
    ("torch", "LongStorage"): _storage("<i8"),
    ("torch", "FloatStorage"): _storage("<f4"),
    ("torch", "DoubleStorage"): _storage("<f8"),
}
TORCH_NAMES: Mapping[tuple[str, str], type] = {
    **NUMPY_NAMES,
    ("torch._utils", "_rebuild_tensor_v2"): TensorRecord,
    ("torch.storage", "_load_from_bytes"): StorageRecord,
    ("collections", "OrderedDict"): Record,  # the hooks of a tensor: none
}


def read_zinc(archive: Path, indices: Mapping[str, Path] | None, name: str) -> GraphSet:
    """The molecules of the archive, or those that an index file per part chooses, in its order.

    Discrete features are the published numbers of atom and bond types. Raises ValueError, naming
    the file and the molecule.
    """
    molecules: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]] = []
    split: dict[str, NDArray[np.int64]] = {}
    with opened_archive(archive) as content:
        for part in PARTS:
            member = next((n for n in content.namelist() if n.endswith(f"{part}.pickle")), None)
            if member is None:
                raise ValueError(f"{archive} has no {part}.pickle")
            where = f"{archive}, {member}"
            try:
                recorded = read_pickle(content.read(member), TORCH_NAMES)
            except RefusedPickleError as error:
                raise ValueError(f"{where}: this pickle is not read: {error}") from None
            except Exception as error:  # a damaged archive raises nearly any kind
                raise ValueError(f"{where}: it is damaged ({one_line(error)})") from None
            if not isinstance(recorded, list):
                raise ValueError(f"{where}: a list of molecules was expected")
            chosen = (
                list(range(len(recorded))) if indices is None else _index(indices[part], recorded)
            )
            first = len(molecules)
            with progress(f"Reading {name}, {part}", len(chosen), len(chosen) > 20_000) as done:
                for number in chosen:
                    molecules.append(_molecule(recorded[number], f"{where}, molecule {number}"))
                    done(1)
            split[part] = np.arange(first, len(molecules))
    types, pairs, bonds, targets = zip(*molecules, strict=True)
    flat = FlatGraphs(
        name,
        0,
        np.concatenate([[0], np.cumsum([len(one) for one in types])]),
        np.concatenate([[0], np.cumsum([len(one) for one in bonds])]),
        np.concatenate(pairs).T,
        np.concatenate(types).astype(np.int32)[:, None],
        np.zeros((sum(map(len, types)), 0), np.float32),
        np.concatenate(bonds).astype(np.int32)[:, None],
        np.zeros((sum(map(len, bonds)), 0), np.float32),
    )
    task = Task("regression", ("y",), "mae")
    return GraphSet(
        name, flat, np.asarray(targets, np.float32)[:, None], task, split, flat.digest()
    )


def _index(file: Path, molecules: Sequence[Any]) -> list[int]:
    try:
        numbers = [int(word) for word in file.read_text("ascii").replace("\n", ",").split(",") if
                   word.strip()]  # fmt: skip
    except ValueError as error:
        raise ValueError(f"{file}: it is no list of numbers ({error})") from None
    if not numbers or min(numbers) < 0 or max(numbers) >= len(molecules):
        raise ValueError(f"{file}: it names molecules outside 0..{len(molecules) - 1}")
    return numbers


def _molecule(recorded: Any, where: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]:
    """Atom types, bonds, bond types, target."""
    try:
        types = recorded["atom_type"].array().ravel()
        matrix = recorded["bond_type"].array()
        target = float(recorded[TARGET].array().item())
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{where}: it is not as published ({error})") from None
    if matrix.shape != (len(types), len(types)):
        raise ValueError(f"{where}: {len(types)} atoms, but bonds of shape {matrix.shape}")
    rows, columns = np.nonzero(np.triu(matrix, 1))
    return types, np.stack([rows, columns], axis=1), matrix[rows, columns], target
