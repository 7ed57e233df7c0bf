"""Batches of prepared complexes, in an order that depends only on the seed and the epoch."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch.utils.data import DataLoader, Dataset, Sampler

from cellformer.complexes.batch import CellBatch
from cellformer.complexes.ragged import RaggedComplexes
from cellformer.complexes.store import folder_of, open_ragged


class EpochSampler(Sampler[int]):
    """The numbers 0 ... count - 1, shuffled anew in each epoch or in their order.

    The order is a function of (seed, epoch) alone, so a resumed training sees the batches that
    an uninterrupted one sees. Lightning calls `set_epoch`; in a loop of your own, call it too.
    """

    def __init__(self, count: int, shuffle: bool, seed: int):
        self.count = count
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of the next iteration."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        if not self.shuffle:
            return iter(range(self.count))
        order = np.random.default_rng((self.seed, self.epoch)).permutation(self.count)
        return iter(order.tolist())


class ComplexDataset(Dataset[CellBatch]):
    """Some complexes of a collection, fetched a batch at a time.

    Sent to another process, complexes that lie in a store are opened there, not copied.
    """

    def __init__(self, complexes: RaggedComplexes, indices: Int64[np.ndarray, " chosen"]):
        self.complexes = complexes
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, number: int) -> CellBatch:
        return self.__getitems__([number])

    def __getitems__(self, numbers: Sequence[int]) -> CellBatch:
        """One batch of these complexes, in this order."""
        chosen = self.indices[np.asarray(numbers, np.int64)]
        return CellBatch.from_ragged(self.complexes.take(chosen))

    def __reduce__(self) -> tuple[Any, ...]:
        folder = folder_of(self.complexes)
        if folder is None:
            return ComplexDataset, (self.complexes, self.indices)
        targets = self.complexes.targets
        kept = None if targets is None else np.array(targets)
        return _reopen, (folder, kept, self.complexes.target_rank, self.indices)


def batches(
    complexes: RaggedComplexes,
    indices: Int64[np.ndarray, " chosen"],
    batch_size: int,
    shuffle: bool,
    seed: int = 0,
    workers: int = 0,
) -> DataLoader[CellBatch]:
    """A loader of `CellBatch`, each of the chosen complexes once an epoch, the last one smaller.

    Its ``sampler`` is an `EpochSampler`. With ``workers`` > 0 batches are made by spawned
    processes; making one takes little time, so 0 is right unless the model is very small. Raises
    ValueError if the batch size is not positive, IndexError if a complex does not exist.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    if len(indices) and not (indices.min() >= 0 and indices.max() < len(complexes)):
        raise IndexError(f"indices reach outside the {len(complexes)} complexes")
    return DataLoader(
        ComplexDataset(complexes, indices),
        batch_size=batch_size,
        sampler=EpochSampler(len(indices), shuffle, seed),
        num_workers=workers,
        collate_fn=_unchanged,
        multiprocessing_context="spawn" if workers else None,
        persistent_workers=workers > 0,
        generator=torch.Generator().manual_seed(seed),  # leaves the global one alone
    )


def _unchanged(batch: Any) -> Any:
    return batch  # `__getitems__` has made a batch already


def _reopen(
    folder: Path,
    targets: Float32[np.ndarray, "target_row target"] | None,
    target_rank: int | None,
    indices: Int64[np.ndarray, " chosen"],
) -> ComplexDataset:
    stored, _ = open_ragged(folder)
    complexes = RaggedComplexes(stored.ranks, stored.encoding_signs, targets, target_rank)
    return ComplexDataset(complexes, indices)
