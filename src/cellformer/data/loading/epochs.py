"""Which complexes make up which batch, as a function of the seed and the epoch alone."""

import logging
from collections.abc import Iterator

import numpy as np
from jaxtyping import Int64
from torch.utils.data import Sampler

from cellformer.basics.checks import at_least

logger = logging.getLogger(__name__)

POOL = 16  # batches whose complexes are sorted together
DRAWS = 8  # orders that are tried out to find how many batches an epoch needs


class EpochBatches(Sampler[list[int]]):
    """The numbers 0 ... count - 1, each once an epoch, in batches of a limited size.

    A batch has at most ``batch_size`` complexes and, if ``batch_cells`` is given, at most so many
    cells, except that a complex with more is a batch of its own. The order is a function of (seed,
    epoch) alone, so a resumed training sees the batches that an uninterrupted one sees. Lightning
    calls `set_epoch`; in a loop of your own, call it too.

    With ``bucket``, the complexes of a batch are of like size: after shuffling, those of every
    16 batches are sorted by their number of cells, and then the batches are shuffled.

    With ``window``, what is read together stays together: the ``shards`` that the complexes lie in
    come in a random order, and as many of them as have about ``window`` complexes are shuffled at
    a time. So no more than that has to fit in memory, whatever the size of the whole.

    All epochs have the same number of batches, so that a schedule can be laid out for them. Where
    the budget of cells cuts one order into more batches than usual, another order is drawn; where
    it cuts one into fewer, the largest batches are halved.
    """

    def __init__(
        self,
        cells: Int64[np.ndarray, " count"],
        batch_size: int,
        shuffle: bool,
        seed: int,
        batch_cells: int | None = None,
        bucket: bool = False,
        window: int | None = None,
        shards: Int64[np.ndarray, " count"] | None = None,
    ):
        at_least(1, batch_size=batch_size)
        if batch_cells is not None:
            at_least(1, batch_cells=batch_cells)
        if bucket and not shuffle:
            raise ValueError("bucket changes the order, so it goes with shuffle=True only")
        if window is not None:
            at_least(1, window=window)
            if not shuffle or shards is None:
                raise ValueError("a window goes with shuffle=True and the shards of the complexes")
        self.cells = cells
        self.batch_size = batch_size
        self.batch_cells = batch_cells
        self.shuffle = shuffle
        self.seed = seed
        self.bucket = bucket
        self.window = window
        self._shards: Int64[np.ndarray, " count"] | None = None
        if window is not None and shards is not None:
            self._shards = np.unique(shards, return_inverse=True)[1]
        self.epoch = 0
        self._done = 0
        self._length = self._longest_epoch()
        self._tell_of_giants()

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of the next iteration."""
        self.epoch = epoch

    def go_on_after(self, batches: int) -> None:
        """Leaves out so many batches of the next iteration, as a resumed training has done them."""
        self._done = batches

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[list[int]]:
        # Drawn when the first batch is asked for: Lightning calls iter before set_epoch.
        generator = np.random.default_rng((self.seed, self.epoch))
        order = self._order(generator)
        bounds = self._bounds(order)
        while len(bounds) > self._length + 1:
            order = self._order(generator)
            bounds = self._bounds(order)
        bounds = _with_batches(bounds, self.cells[order], self._length)
        numbers = generator.permutation(self._length) if self.bucket else range(self._length)
        done, self._done = self._done, 0
        for number in numbers[done:]:
            yield order[bounds[number] : bounds[number + 1]].tolist()

    def _order(self, generator: np.random.Generator) -> Int64[np.ndarray, " count"]:
        count = len(self.cells)
        if not self.shuffle:
            return np.arange(count)
        order = generator.permutation(count)
        if self.window is not None and self._shards is not None:
            order = order[_windows(self._shards[order], self.window, generator)]
        if not self.bucket:
            return order
        per_batch = self.batch_size
        if self.batch_cells is not None and count:
            per_batch = min(per_batch, max(1, int(self.batch_cells / max(1.0, self.cells.mean()))))
        pool = np.arange(count) // (POOL * per_batch)
        return order[np.lexsort((self.cells[order], pool))]

    def _bounds(self, order: Int64[np.ndarray, " count"]) -> list[int]:
        """Where batches begin and, at last, end, each as large as its limits allow."""
        if self.batch_cells is None:
            return [*range(0, len(order), self.batch_size), len(order)]
        ends = np.cumsum(self.cells[order])
        bounds = [0]
        while (start := bounds[-1]) < len(order):
            spent = ends[start - 1] if start else 0
            stop = int(np.searchsorted(ends, spent + self.batch_cells, side="right"))
            bounds.append(min(max(stop, start + 1), start + self.batch_size))
        return bounds

    def _longest_epoch(self) -> int:
        """The most batches of some orders; of the only one, where there is only one number."""
        generator = np.random.default_rng(self.seed)
        draws = DRAWS if self.shuffle and self.batch_cells is not None else 1
        return max(len(self._bounds(self._order(generator))) - 1 for _ in range(draws))

    def _tell_of_giants(self) -> None:
        if self.batch_cells is None:
            return
        giants = np.flatnonzero(self.cells > self.batch_cells)
        if len(giants):
            logger.warning(
                "%d of %d complexes have more than batch_cells = %d cells and form batches of "
                "their own; the largest has %d",
                len(giants),
                len(self.cells),
                self.batch_cells,
                self.cells.max(),
            )


def _windows(
    shards: Int64[np.ndarray, " count"], window: int, generator: np.random.Generator
) -> Int64[np.ndarray, " count"]:
    """Which of some complexes come first, second ...: shards in a random order, those that begin
    within the same ``window`` together, in the order that their complexes had.
    """
    sizes = np.bincount(shards)
    order = generator.permutation(len(sizes))
    begins = np.empty(len(sizes), np.int64)
    begins[order] = np.cumsum(sizes[order]) - sizes[order]
    return np.argsort((begins // window)[shards], kind="stable")


def _with_batches(bounds: list[int], cells: Int64[np.ndarray, " count"], length: int) -> list[int]:
    """Halves the batches with the most cells until there are ``length`` of them."""
    while len(bounds) < length + 1:
        starts, stops = np.array(bounds[:-1]), np.array(bounds[1:])
        totals = np.add.reduceat(cells, starts)
        widest = int(np.where(stops - starts > 1, totals, -1).argmax())
        bounds = sorted([*bounds, (bounds[widest] + bounds[widest + 1]) // 2])
    return bounds
