"""How long a set takes to prepare: the handing out of shards, played through."""

import itertools
import math
from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from cellformer.data.preparing.shards import LARGE_ROWS, SHARD_ROWS, SMALL_SHARDS
from cellformer.training.estimating.machines import Machines
from cellformer.training.estimating.rates import PreparationRates

MOST_SHARDS = 20_000
"""So many are played through, or five for each process; more take as long each."""
RAY_SECONDS = 1.2e-3
"""Of the process that hands out, for a task of Ray: to send 70 kB of rows, to wait for it among
others and to take what came of it (Ray 2, on a core of an AMD EPYC)."""
DAY = 86_400.0


@dataclass(frozen=True)
class PreparationTime:
    """Seconds of the parts of a preparation, one after the other, and what it writes."""

    open: float
    """To read the source."""
    make: float
    """To start the workers, to make all shards and to append them to the store."""
    append: float
    """Of it, what the process that hands out shards does to append them, one after the other."""
    bound: str
    """What the making of the shards waits for most of the time."""
    busy: float
    """The part of the making in which that is at work."""
    disk_bytes: float
    """The store, and shards that are not yet appended."""
    sent_bytes: float
    """From the process that hands out shards to the workers."""

    @property
    def seconds(self) -> float:
        """Of all parts."""
        return self.open + self.make


def preparation_time(rates: PreparationRates, rows: int, machines: Machines) -> PreparationTime:
    """Plays through what `LocalProcesses` and `RayShards` do with so many rows.

    One process starts workers, cuts shards out and hands them on, at most two for each, takes each
    that was made and appends it to the store; a worker makes one at a time and writes it to the
    storage that all share. A shard whose machine fails is made again. Random numbers are the same
    every time. All shards of a large set are taken to be as large as most of them.
    """
    size = SHARD_ROWS if rows <= SMALL_SHARDS * SHARD_ROWS else LARGE_ROWS
    shards = math.ceil(rows / size)
    played = min(shards, max(MOST_SHARDS, 5 * machines.all_processes))
    started = rates.start_seconds if machines.all_processes > 1 else 0.0
    seconds, busy = _Play(rates, machines, played, size).seconds()
    bound = max(busy, key=lambda name: busy[name])
    waiting = min(2 * machines.all_processes * size, rows)
    return PreparationTime(
        rates.open_seconds * rows,
        started + seconds * shards / played,
        busy["appending"] * shards / played,
        bound,
        min(busy[bound] / (started + seconds), 1.0),
        rates.stored_bytes * (rows + waiting),
        rates.sent_bytes * rows,
    )


class _Play:
    """Events in the order of their times, then of their numbers: (time, number, what, shard)."""

    def __init__(self, rates: PreparationRates, machines: Machines, shards: int, size: int):
        random = np.random.default_rng(0)
        measured = size // SHARD_ROWS  # shards of the size of those that were measured, in one
        self.making = random.choice(rates.make_seconds, (shards, measured)).sum(axis=1).tolist()
        self.random = random
        apart = machines.nodes > 1
        sent = size * rates.sent_bytes / machines.network_bytes if apart else 0.0
        self.hand = measured * rates.cut_seconds + sent
        self.collect = RAY_SECONDS if apart else 0.0
        self.write = size * rates.stored_bytes / machines.storage_bytes
        self.append = max(size * rates.append_seconds, 2 * self.write)  # read, and written
        self.failing = machines.failures / DAY  # a second and machine
        self.restart = 60 * machines.restart
        self.room = 2 * machines.all_processes
        self.free = machines.all_processes
        self.waiting: deque[int] = deque()  # handed out, not begun
        self.ready: deque[int] = deque()  # written, not appended
        self.events: list[tuple[float, int, str, int]] = []
        self.numbers = itertools.count()
        self.left, self.running = deque(range(shards)), 0
        self.is_idle = True  # the process that hands out
        self.storage_free = 0.0
        self.busy = {"processes": 0.0, "handing out": 0.0, "storage": 0.0, "appending": 0.0}
        self.processes = machines.all_processes

    def seconds(self) -> tuple[float, dict[str, float]]:
        """Until the last shard was appended, and how long each of them was at work."""
        now = 0.0
        self._hand_out(now)
        while self.events:
            now, _, what, shard = heappop(self.events)
            if what == "handed":
                self.waiting.append(shard)
                self.is_idle = True
            elif what == "made":
                self.storage_free = max(now, self.storage_free) + self.write
                self.busy["storage"] += self.write
                self._at(self.storage_free, "written", shard)
            elif what == "written":
                self.ready.append(shard)
                self.free += 1
            elif what == "failed":
                self.waiting.appendleft(shard)
                self.free += 1
            else:  # collected
                self.running -= 1
                self.is_idle = True
            self._begin(now)
            self._hand_out(now)
        self.busy["processes"] /= self.processes
        return now, self.busy

    def _at(self, time: float, what: str, shard: int) -> None:
        heappush(self.events, (time, next(self.numbers), what, shard))

    def _begin(self, now: float) -> None:
        while self.free and self.waiting:
            self.free -= 1
            shard = self.waiting.popleft()
            making = self.making[shard]
            if self.failing and (until := self.random.exponential(1 / self.failing)) < making:
                self.busy["processes"] += until
                self._at(now + until + self.restart, "failed", shard)
            else:
                self.busy["processes"] += making
                self._at(now + making, "made", shard)

    def _hand_out(self, now: float) -> None:
        if not self.is_idle:
            return
        if self.left and self.running < self.room:
            self.running += 1
            self.is_idle = False
            self.busy["handing out"] += self.hand
            self._at(now + self.hand, "handed", self.left.popleft())
        elif self.ready:
            self.is_idle = False
            self.busy["handing out"] += self.collect
            self.busy["appending"] += self.append
            self._at(now + self.collect + self.append, "collected", self.ready.popleft())
