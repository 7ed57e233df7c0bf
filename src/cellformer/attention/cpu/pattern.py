"""Who attends to whom, as the CPU's kernels read it: made once, read by every layer."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import torch
from numpy.typing import NDArray
from torch import Tensor

from cellformer.attention.arrows import Pattern
from cellformer.attention.cpu.dense import Squares
from cellformer.attention.cpu.packing import INDICES, Step, indices_of
from cellformer.attention.cpu.rows import PairsBySender
from cellformer.attention.cpu.tiles import Tiles, most_threads, receivers_alone, senders_alone
from cellformer.attention.dense.blocks import DenseBlocks
from cellformer.complexes.batches import by_sender as transposition


class PatternArrays:
    """The index tensors of a pattern, see `indices_of`, as arrays that share their memory."""

    def __init__(self, indices: list[Tensor], dense: bool, num_senders: int, backward: bool):
        self.indices, self.dense, self.num_senders = indices, dense, num_senders
        self.backward = backward
        self.arrays = [tensor.detach().numpy() for tensor in indices]

    @property
    def csr(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Offsets, senders and weights, of a sparse pattern."""
        offsets, senders, weights, *_ = self.arrays
        return offsets, senders, weights

    @cached_property
    def squares(self) -> Squares:
        """Of a dense pattern."""
        return Squares(*self.arrays[: len(Squares._fields)])

    @cached_property
    def num_pairs(self) -> int:
        """How many pairs attend, stored or not."""
        return int(self.squares.work[-1]) if self.dense else len(self.arrays[1])

    @cached_property
    def transposed(self) -> PairsBySender:
        """Of a sparse pattern."""
        given = self.arrays[9:]
        if not len(given[0]):
            rows = (tensor.long() for tensor in self.indices[:2])
            made = transposition.TransposedPairs.of(self.num_senders, *rows)
            given = [part.numpy() for part in (made.offsets, made.receivers, made.pairs)]
        return PairsBySender(*given)

    @property
    def tiles(self) -> Tiles | None:
        """Of a sparse pattern, if it falls into enough parts for all threads."""
        threads = torch.get_num_threads()
        return self._tiles if threads == 1 or threads <= self._most_threads else None

    @cached_property
    def receivers_alone(self) -> Tiles:
        """Of a sparse pattern, for when there are no tiles."""
        return receivers_alone(self.arrays[0])

    @cached_property
    def senders_alone(self) -> Tiles:
        """Of a sparse pattern, for after the receivers alone."""
        return senders_alone(self.transposed.offsets, self.arrays[0])

    @cached_property
    def _tiles(self) -> Tiles | None:
        given = self.arrays[3:9]
        return Tiles(*given) if len(given[0]) else None

    @cached_property
    def _most_threads(self) -> float:
        return most_threads(self._tiles.work) if self._tiles else 0


_known: WeakKeyDictionary[Pattern, PatternArrays] = WeakKeyDictionary()


def arrays_of(pattern: Pattern, backward: bool) -> PatternArrays:
    """The same object for as long as there is the pattern."""
    known = _known.get(pattern)
    if known is None or (backward and not known.backward):
        dense, indices = isinstance(pattern, DenseBlocks), indices_of(pattern, backward)
        known = _known[pattern] = PatternArrays(indices, dense, pattern.num_senders, backward)
    return known


def patterns_of(
    indices: list[Tensor], steps: Sequence[Step], matrices: Sequence[Tensor]
) -> list[PatternArrays]:
    """From the tensors of all arrows, where an operator takes tensors alone."""
    return [
        PatternArrays(
            indices[number * INDICES : (number + 1) * INDICES],
            bool(step.dense),
            len(matrices[step.key]),
            backward=True,
        )
        for number, step in enumerate(steps)
    ]
