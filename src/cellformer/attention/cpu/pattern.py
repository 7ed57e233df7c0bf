"""Who attends to whom, as the CPU's kernels read it: made once, read by every layer."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import torch
from numpy.typing import NDArray
from torch import Tensor

from cellformer.attention.arrows import Pattern
from cellformer.attention.cpu.bundles import Pairs, PairsBothWays, PairsBySender, Squares, Tiles
from cellformer.attention.cpu.packing import (
    DenseTensors,
    SparseTensors,
    Step,
    tensors_of,
    unpacked_patterns,
)
from cellformer.attention.cpu.tiles import most_threads, receivers_alone, senders_alone
from cellformer.complexes.batches.by_sender import TransposedPairs


class SparseArrays:
    """The tensors of a neighborhood as arrays that share their memory.

    ``backward`` says whether the transposed pairs were asked for.
    """

    def __init__(self, tensors: SparseTensors, num_senders: int, backward: bool):
        self.tensors, self.num_senders, self.backward = tensors, num_senders, backward
        self.pairs = Pairs(
            offsets=_array(tensors.offsets),
            senders=_array(tensors.senders),
            weights=_array(tensors.weights),
        )

    @property
    def num_pairs(self) -> int:
        """How many pairs attend."""
        return len(self.pairs.senders)

    @cached_property
    def both_ways(self) -> PairsBothWays:
        """The pairs by receiver and by sender."""
        given = self.tensors
        if not len(given.transposed_offsets):
            pairs = given.offsets.long(), given.senders.long()
            made = TransposedPairs.of(self.num_senders, *pairs)
            given = given._replace(
                transposed_offsets=made.offsets,
                transposed_receivers=made.receivers,
                transposed_pairs=made.pairs,
            )
        transposed = PairsBySender(
            offsets=_array(given.transposed_offsets),
            receivers=_array(given.transposed_receivers),
            pairs=_array(given.transposed_pairs),
        )
        return PairsBothWays(self.pairs, transposed)

    @property
    def tiles(self) -> Tiles | None:
        """If the pairs fall into enough parts for all threads."""
        threads = torch.get_num_threads()
        return self._tiles if threads == 1 or threads <= self._most_threads else None

    @cached_property
    def receivers_alone(self) -> Tiles:
        """For when there are no tiles."""
        return receivers_alone(self.pairs.offsets)

    @cached_property
    def senders_alone(self) -> Tiles:
        """For after the receivers alone."""
        return senders_alone(self.both_ways.by_sender.offsets, self.pairs.offsets)

    @cached_property
    def _tiles(self) -> Tiles | None:
        given = self.tensors
        if not len(given.tile_work):
            return None
        return Tiles(
            work=_array(given.tile_work),
            before=_array(given.tile_before),
            receivers=_array(given.tile_receivers),
            receiver_offsets=_array(given.tile_receiver_offsets),
            senders=_array(given.tile_senders),
            sender_offsets=_array(given.tile_sender_offsets),
        )

    @cached_property
    def _most_threads(self) -> float:
        return most_threads(self._tiles.work) if self._tiles else 0


class DenseArrays:
    """The tensors of complexes as arrays that share their memory."""

    def __init__(self, tensors: DenseTensors):
        arrays = {name: _array(tensor) for name, tensor in tensors._asdict().items()}
        self.squares = Squares(**arrays)

    @property
    def num_pairs(self) -> int:
        """How many pairs attend, stored in N or not."""
        return int(self.squares.work[-1])


PatternArrays: TypeAlias = SparseArrays | DenseArrays

_known: WeakKeyDictionary[Pattern, PatternArrays] = WeakKeyDictionary()


def arrays_of(pattern: Pattern, backward: bool) -> PatternArrays:
    """The same object for as long as there is the pattern."""
    known = _known.get(pattern)
    lacking = isinstance(known, SparseArrays) and backward and not known.backward
    if known is None or lacking:
        tensors = tensors_of(pattern, backward)
        known = _known[pattern] = _as_arrays(tensors, pattern.num_senders, backward)
    return known


def patterns_of(
    indices: Sequence[Tensor], steps: Sequence[Step], matrices: Sequence[Tensor]
) -> list[PatternArrays]:
    """Of all arrows, where an operator takes tensors alone."""
    return [
        _as_arrays(tensors, len(matrices[step.key]), backward=True)
        for tensors, step in zip(unpacked_patterns(indices, steps), steps, strict=True)
    ]


def _as_arrays(
    tensors: SparseTensors | DenseTensors, num_senders: int, backward: bool
) -> PatternArrays:
    if isinstance(tensors, DenseTensors):
        return DenseArrays(tensors)
    return SparseArrays(tensors, num_senders, backward)


def _array(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().numpy()
