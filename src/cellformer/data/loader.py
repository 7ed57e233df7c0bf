"""Loaders of batches of prepared complexes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch.utils.data import DataLoader, Dataset

from cellformer.complexes.batch import CellBatch
from cellformer.complexes.descriptors import with_values
from cellformer.complexes.ragged import RaggedComplexes
from cellformer.complexes.resident import ResidentComplexes
from cellformer.complexes.store import folder_of, open_ragged
from cellformer.data.epochs import EpochBatches


class ComplexDataset(Dataset[CellBatch]):
    """Some complexes of a collection, fetched a batch at a time.

    Sent to another process, complexes that lie in a store are opened there, not copied.
    """

    def __init__(self, complexes: RaggedComplexes, indices: Int64[np.ndarray, " chosen"]):
        self.complexes = complexes
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, numbers: Sequence[int]) -> CellBatch:
        """One batch of these complexes, in this order."""
        chosen = self.indices[np.asarray(numbers, np.int64)]
        return CellBatch.from_ragged(self.complexes.take(chosen))

    def __reduce__(self) -> tuple[Any, ...]:
        folder = folder_of(self.complexes)
        if folder is None:
            return ComplexDataset, (self.complexes, self.indices)
        targets, descriptors = self.complexes.targets, self.complexes.descriptors
        kept = None if targets is None else np.array(targets)
        values = None if descriptors is None else np.array(descriptors.values)
        return _reopen, (folder, kept, self.complexes.target_rank, values, self.indices)


class ResidentDataset(Dataset[CellBatch]):
    """Some complexes of a collection on a device, put together there a batch at a time."""

    def __init__(self, complexes: ResidentComplexes, indices: Int64[np.ndarray, " chosen"]):
        self.complexes = complexes
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, numbers: Sequence[int]) -> CellBatch:
        """One batch of these complexes, in this order."""
        return self.complexes.batch(self.indices[np.asarray(numbers, np.int64)])


def batches(
    complexes: RaggedComplexes | ResidentComplexes,
    indices: Int64[np.ndarray, " chosen"],
    batch_size: int,
    shuffle: bool,
    seed: int = 0,
    workers: int = 0,
    *,
    batch_cells: int | None = None,
    bucket: bool = False,
) -> DataLoader[CellBatch]:
    """A loader of `CellBatch`, each of the chosen complexes once an epoch.

    Its ``sampler`` is an `EpochBatches`, which says what ``batch_size``, ``batch_cells`` and
    ``bucket`` mean. With ``workers`` > 0 batches are made by spawned processes; making one takes
    little time, so 0 is right unless the model is very small.

    Raises ValueError if a limit is not positive, if bucketing is asked for without shuffling, or
    workers for resident complexes; IndexError if a complex does not exist.
    """
    if len(indices) and not (indices.min() >= 0 and indices.max() < len(complexes)):
        raise IndexError(f"indices reach outside the {len(complexes)} complexes")
    dataset: ComplexDataset | ResidentDataset
    match complexes:
        case RaggedComplexes():
            dataset = ComplexDataset(complexes, indices)
        case ResidentComplexes():
            if workers:
                raise ValueError(
                    "resident complexes are not sent to other processes; set workers to 0"
                )
            dataset = ResidentDataset(complexes, indices)
    cells = complexes.num_cells[indices].sum(axis=1)
    return DataLoader(
        dataset,
        batch_size=None,  # the sampler gives the numbers of a whole batch
        sampler=EpochBatches(cells, batch_size, shuffle, seed, batch_cells, bucket),
        num_workers=workers,
        collate_fn=_unchanged,
        multiprocessing_context="spawn" if workers else None,
        persistent_workers=workers > 0,
        generator=torch.Generator().manual_seed(seed),  # leaves the global one alone
    )


def _unchanged(batch: Any) -> Any:
    return batch  # torch would convert what it knows


def _reopen(
    folder: Path,
    targets: Float32[np.ndarray, "target_row target"] | None,
    target_rank: int | None,
    values: Float32[np.ndarray, "complex value"] | None,
    indices: Int64[np.ndarray, " chosen"],
) -> ComplexDataset:
    stored, _ = open_ragged(folder)
    complexes = RaggedComplexes(
        stored.ranks,
        stored.encoding_signs,
        targets,
        target_rank,
        with_values(stored.descriptors, values),
    )
    return ComplexDataset(complexes, indices)
