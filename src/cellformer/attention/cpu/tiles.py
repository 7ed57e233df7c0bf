"""How the rows of sparse attention are cut into pieces of work for the kernels on a CPU."""

import math
from typing import Any, no_type_check

import numpy as np
from numpy.typing import NDArray

from cellformer.attention.cpu.bundles import Tiles
from cellformer.attention.cpu.compiled import part_of_kernel

ROWS_APART = 64  # pieces of a neighborhood that hangs together


def most_threads(work: NDArray[Any]) -> float:
    """How many threads the tiles keep busy: none has more than half a thread's share."""
    most = np.diff(work).max(initial=0)
    return float(work[-1] / (2 * most)) if most else math.inf


def receivers_alone(offsets: NDArray[Any]) -> Tiles:
    """Runs of like work of all receivers, without senders."""
    bounds, work = _runs(offsets)
    nothing = np.zeros(len(bounds), np.int64)
    return Tiles(
        work=work,
        before=offsets,
        receivers=np.arange(len(offsets) - 1),
        receiver_offsets=bounds,
        senders=nothing[:0],
        sender_offsets=nothing,
    )


def senders_alone(offsets: NDArray[Any], before: NDArray[Any]) -> Tiles:
    """Runs of like work of all senders, given where the pairs of each start; no receivers."""
    turned = receivers_alone(offsets)
    return Tiles(
        work=turned.work,
        before=before,
        receivers=turned.senders,
        receiver_offsets=turned.sender_offsets,
        senders=turned.receivers,
        sender_offsets=turned.receiver_offsets,
    )


def _runs(offsets: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where to cut the rows, and the number of pairs before each cut."""
    work = offsets + np.arange(len(offsets))
    cuts = np.linspace(0, work[-1], ROWS_APART + 1).astype(np.int64)
    bounds = np.searchsorted(work, cuts).astype(np.int64)
    return bounds, offsets[bounds]


@part_of_kernel
@no_type_check
def most_between(offsets, begin, end):
    """The largest number of pairs between two neighboring offsets."""
    most = 0
    for place in range(begin, end):
        most = max(most, offsets[place + 1] - offsets[place])
    return most


@part_of_kernel
@no_type_check
def most_pairs(offsets, cells):
    """The largest number of pairs of one of the cells."""
    most = 0
    for n in range(cells.length):
        cell = cells.numbers[n]
        most = max(most, offsets[cell + 1] - offsets[cell])
    return most
