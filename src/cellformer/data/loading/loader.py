"""Loaders of batches of prepared complexes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from cellformer.basics.stopping import obey_parent
from cellformer.complexes.batches.batch import CellBatch, Part
from cellformer.complexes.batches.device_store import ResidentComplexes
from cellformer.complexes.descriptors import with_values
from cellformer.complexes.many.ragged import RaggedComplexes
from cellformer.complexes.many.reading_ahead import ReadingAhead, expect
from cellformer.complexes.many.store import is_late, open_ragged, place_of
from cellformer.data.loading.epochs import EpochBatches
from cellformer.data.loading.sending import Loader, Sent, check_workers
from cellformer.data.preparing.shards import LARGE_ROWS

SHARD = LARGE_ROWS
"""Complexes that are read together, or rows of the source: as many as a part of a store has."""


@dataclass(frozen=True)
class Share:
    """What a process takes of every batch: each ``size``-th complex, from number ``rank`` on."""

    rank: int = 0
    size: int = 1

    def of(
        self, numbers: Sequence[int], make: Callable[[NDArray[np.int64]], CellBatch]
    ) -> CellBatch:
        """The batch that ``make`` makes of this share of the numbers.

        Where there are too few, it is that of the first number with its targets missing, so that
        it counts nowhere, and the process can take part in what all have to do.
        """
        whole = np.asarray(numbers, np.int64)
        if self.size == 1:
            return make(whole)
        places = np.arange(self.rank, len(whole), self.size)
        idle = not len(places)
        if idle:
            places = np.zeros(1, np.int64)
        batch = make(whole[places])
        targets = batch.targets
        if idle and targets is not None:
            targets = torch.full_like(targets, torch.nan)
        return replace(batch, targets=targets, part=Part(torch.from_numpy(places), len(whole)))


class ComplexDataset(Dataset[CellBatch]):
    """Some complexes of a collection, fetched a batch at a time.

    With a ``window`` they are read shard by shard, and each is asked for as a whole.

    Sent to another process, complexes that lie in a store are opened there, not copied.
    """

    def __init__(
        self,
        complexes: RaggedComplexes,
        indices: Int64[np.ndarray, " chosen"],
        share: Share = Share(),
        window: int | None = None,
    ):
        self.complexes = complexes
        self.indices = indices
        self.share = share
        self.window = window
        self._ahead: ReadingAhead | None = None
        if window is not None:
            self._ahead = ReadingAhead(complexes, SHARD, 2 * (window // SHARD + 2))
        expect(complexes, in_shards=window is not None)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, numbers: Sequence[int]) -> CellBatch:
        """One batch of these complexes, in this order, or this process's share of it."""
        return self.share.of(numbers, self._batch)

    def _batch(self, own: Int64[np.ndarray, " chosen"]) -> CellBatch:
        chosen = self.indices[own]
        if self._ahead is not None:
            self._ahead(chosen)
        return CellBatch.from_ragged(self.complexes.take(chosen))

    def __reduce__(self) -> tuple[Any, ...]:
        place = place_of(self.complexes)
        if place is None:
            return ComplexDataset, (self.complexes, self.indices, self.share, self.window)
        targets, descriptors = self.complexes.targets, self.complexes.descriptors
        kept = None if targets is None else np.array(targets)
        values = None if descriptors is None else np.array(descriptors.values)
        rank, bounds = self.complexes.target_rank, self.complexes.bounds
        verify = "late" if is_late(self.complexes) else False  # then this process has verified it
        return _reopen, (
            place,
            verify,
            kept,
            rank,
            values,
            bounds,
            self.indices,
            self.share,
            self.window,
        )


class ResidentDataset(Dataset[CellBatch]):
    """Some complexes of a collection on a device, put together there a batch at a time."""

    def __init__(
        self,
        complexes: ResidentComplexes,
        indices: Int64[np.ndarray, " chosen"],
        share: Share = Share(),
    ):
        self.complexes = complexes
        self.indices = indices
        self.share = share

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, numbers: Sequence[int]) -> CellBatch:
        """One batch of these complexes, in this order, or this process's share of it."""
        return self.share.of(numbers, lambda own: self.complexes.batch(self.indices[own]))


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
    share: Share = Share(),
    window: int | None = None,
    shards: Int64[np.ndarray, " chosen"] | None = None,
) -> DataLoader[CellBatch]:
    """A loader of `CellBatch`, each of the chosen complexes once an epoch.

    Its ``sampler`` is an `EpochBatches`, which says what ``batch_size``, ``batch_cells``,
    ``bucket`` and ``window`` mean; unless ``shards`` are given, a shard has 2,048 complexes. With
    ``workers`` > 0 batches are made by spawned processes; making one takes little time, so 0 is
    right unless the model is very small. Of several processes that train together, each takes its
    ``share`` of every batch, and puts nothing else together.

    Raises ValueError if a limit is not positive, if bucketing is asked for without shuffling, or
    workers for resident complexes, or more of them than the machine has room for; IndexError if a
    complex does not exist.
    """
    if len(indices) and not (indices.min() >= 0 and indices.max() < len(complexes)):
        raise IndexError(f"indices reach outside the {len(complexes)} complexes")
    dataset: ComplexDataset | ResidentDataset
    match complexes:
        case RaggedComplexes():
            dataset = ComplexDataset(complexes, indices, share, window)
        case ResidentComplexes():
            if workers:
                raise ValueError(
                    "resident complexes are not sent to other processes; set workers to 0"
                )
            dataset = ResidentDataset(complexes, indices, share)
    cells = complexes.num_cells[indices].sum(axis=1)
    shards = indices // SHARD if shards is None else shards
    order = (window, shards) if shuffle else ()
    check_workers(workers)
    return Loader(
        dataset,
        batch_size=None,  # the sampler gives the numbers of a whole batch
        sampler=EpochBatches(cells, batch_size, shuffle, seed, batch_cells, bucket, *order),
        num_workers=workers,
        worker_init_fn=_begin,
        collate_fn=_sent if workers else _unchanged,
        multiprocessing_context="spawn" if workers else None,
        persistent_workers=workers > 0,
        generator=torch.Generator().manual_seed(seed),  # leaves the global one alone
    )


def _begin(worker: int) -> None:
    obey_parent()


def _sent(batch: Any) -> Any:
    return Sent(batch)


def _unchanged(batch: Any) -> Any:
    return batch  # torch would convert what it knows


def _reopen(
    place: str,
    verify: Literal["late", False],
    targets: Float[np.ndarray, "target_row target"] | None,
    target_rank: int | None,
    values: Float32[np.ndarray, "complex value"] | None,
    bounds: Float[np.ndarray, "complex side"] | None,
    indices: Int64[np.ndarray, " chosen"],
    share: Share,
    window: int | None,
) -> ComplexDataset:
    stored, _ = open_ragged(place, verify)
    complexes = RaggedComplexes(
        stored.ranks,
        stored.encoding_signs,
        targets,
        target_rank,
        with_values(stored.descriptors, values),
        bounds,
    )
    return ComplexDataset(complexes, indices, share, window)
