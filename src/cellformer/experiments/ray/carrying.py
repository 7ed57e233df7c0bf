"""A worker in a folder of the machine that has asked for work, which it may not see.

Then it works in a copy of its own, and what it has kept is sent back, through Ray: by an actor that
has the folder to itself on that machine for as long as the worker lives.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import lightning.pytorch as pl

from cellformer.basics.cache import cache_entry
from cellformer.basics.files import replace_atomically
from cellformer.basics.owners import passing
from cellformer.basics.parts.trust import allow_parts
from cellformer.experiments.ray.cluster import PARTS
from cellformer.experiments.ray.places import claimed, sees
from cellformer.training.runs.run_folder import RunFolder

logger = logging.getLogger(__name__)

PIECE = 8 << 20
"""Bytes of a file that are sent at a time."""

State: TypeAlias = tuple[int, int]
"""Of a file: its size, and when it was written."""


class NotSharedError(ValueError):
    """A file that a worker has to read is not on its machine."""


@dataclass(frozen=True)
class Asker:
    """The machine and the process that ask for work, as workers are told of them."""

    place: Path
    """The `meeting_place`."""
    machine: str
    """By Ray's name."""
    directory: str
    """What relative paths of data are relative to."""


@dataclass(frozen=True, eq=False)
class WorkPlace:
    """Where a worker works."""

    folder: Path
    where: str
    """The machine and the process, as people call them."""
    send: Callable[[], None] | None = None
    """Sends what is new to the machine that asked; None where that sees it, or nothing is new."""

    @property
    def callbacks(self) -> list[pl.Callback]:
        """Which send what a training keeps, as it keeps it, where that is needed."""
        return [] if self.send is None else [_Keeping(self.folder, self.send)]


@contextmanager
def at_work(asker: Asker, name: str, folder: Path, writes: bool = True) -> Iterator[WorkPlace]:
    """Called by a worker that trains into a folder, which it has to itself meanwhile.

    ``name`` is that of its work, by which the driver knows where it is. Parts that the driver
    allows are allowed here too. What ``writes`` is sent back, where that is needed. Raises
    NotSharedError for a file of the driver's machine that is not here.
    """
    allow_parts(*filter(None, os.environ.get(PARTS, "").split(os.pathsep)))
    with suppress(OSError):
        os.chdir(asker.directory)
    where = f"{socket.gethostname()} (process {os.getpid()})"
    if sees(asker.place):
        with claimed(asker.place, name, folder, where):
            yield WorkPlace(folder, where)
        return
    keeper = _keeper(asker, name, folder, where)
    with passing(cache_entry("carried", folder.name)) as temporary:
        own = Carried(keeper, temporary / folder.name)
        try:
            own.fetch()
            logger.info("%s is not on %s; its files come and go through Ray", folder, where)
            try:
                yield WorkPlace(own.folder, where, own.send if writes else None)
            finally:
                if writes:
                    own.send()
                keeper.ask("leave")
        except FileNotFoundError as error:
            raise NotSharedError(
                f"{socket.gethostname()} has not what the machine has that asked for this: "
                f"{error}; name the data by a URL that all machines can read"
            ) from error


def _keeper(asker: Asker, name: str, folder: Path, where: str) -> "AskedKeeper":
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(asker.machine, soft=False)
    actor = ray.remote(Keeper).options(num_cpus=0, scheduling_strategy=there)
    return AskedKeeper(actor.remote(asker.place, name, folder, where, os.environ.get("RANK")))


class Keeper:
    """On the machine that has asked for work: has its folder to itself, reads and writes there."""

    def __init__(self, place: Path, name: str, folder: Path, where: str, rank: str | None):
        if rank is not None:
            os.environ["RANK"] = rank  # of those that train together the first one claims
        self.folder = folder
        self.held = ExitStack()
        self.held.enter_context(claimed(place, name, folder, where))
        self.writing = ExitStack()
        self.stream: Any = None

    def files(self) -> dict[str, State]:
        """All files, the oldest first."""
        return states_in(self.folder)

    def read(self, name: str, start: int) -> bytes:
        """A piece of a file."""
        with (self.folder / name).open("rb") as stream:
            stream.seek(start)
            return stream.read(PIECE)

    def begin(self, name: str) -> None:
        """A file is to come, which appears when it is whole."""
        self.writing.close()
        self.writing = ExitStack()
        unfinished = self.writing.enter_context(replace_atomically(self.folder / name))
        self.stream = self.writing.enter_context(unfinished.open("wb"))

    def more(self, piece: bytes) -> None:
        """The next piece of it."""
        self.stream.write(piece)

    def end(self) -> None:
        """The file is whole."""
        self.writing.close()

    def rename(self, name: str, new: str) -> None:
        """A file takes another name, in the place of what had it."""
        (self.folder / name).replace(self.folder / new)

    def remove(self, name: str) -> None:
        """A file that is no longer wanted."""
        (self.folder / name).unlink(missing_ok=True)

    def leave(self) -> None:
        """Others may have the folder."""
        self.held.close()


@dataclass(frozen=True, eq=False)
class AskedKeeper:
    """The methods of a `Keeper` elsewhere, whose answers are waited for."""

    actor: Any

    def ask(self, method: str, *given: object) -> Any:
        """What it answers; raises what it raises."""
        import ray

        try:
            return ray.get(getattr(self.actor, method).remote(*given))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None


@dataclass(eq=False)
class Carried:
    """The copy of a folder that a `Keeper` has, and what of it is known there."""

    keeper: AskedKeeper
    folder: Path
    known: dict[str, State] = field(default_factory=dict, init=False)

    def fetch(self) -> None:
        """Brings all files here."""
        self.folder.mkdir(parents=True)
        for name, (size, written) in self.keeper.ask("files").items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as stream:
                while stream.tell() < size:
                    stream.write(self.keeper.ask("read", name, stream.tell()))
            os.utime(file, ns=(written, written))  # by which a state is known again
        self.known = states_in(self.folder)

    def send(self) -> None:
        """Has the other folder be as this one is; what was written first comes first.

        So whatever ends this midway leaves what an interrupted training leaves. A file that only
        has another name here, such as the state before the last one, gets it there.
        """
        found = states_in(self.folder)
        changed = {name for name, state in found.items() if self.known.get(name) != state}
        for name in found:
            if name not in changed:
                continue
            earlier = next(
                (old for old, state in self.known.items() if state == found[name]
                 and (old in changed or old not in found)), None
            )  # fmt: skip
            if earlier is None:
                self._send(name)
            else:
                self.keeper.ask("rename", earlier, name)
                del self.known[earlier]
            self.known[name] = found[name]
        for name in self.known.keys() - found.keys():
            self.keeper.ask("remove", name)
            del self.known[name]

    def _send(self, name: str) -> None:
        self.keeper.ask("begin", name)
        with (self.folder / name).open("rb") as stream:
            while piece := stream.read(PIECE):
                self.keeper.ask("more", piece)
        self.keeper.ask("end")


def states_in(folder: Path) -> dict[str, State]:
    """Of all files in a folder but hidden ones, by their names in it, the oldest first."""
    found = {}
    for file in folder.rglob("*"):
        name = file.relative_to(folder)
        if not any(part.startswith(".") for part in name.parts):
            with suppress(FileNotFoundError):  # just replaced
                if file.is_file():
                    told = file.stat()
                    found[str(name)] = told.st_size, told.st_mtime_ns
    return dict(sorted(found.items(), key=lambda each: each[1][1]))


class _Keeping(pl.Callback):
    """Sends what is kept whenever there is a new state of the training."""

    def __init__(self, folder: Path, send: Callable[[], None]):
        self.send = send
        self.run = RunFolder(folder)
        self.states = self._found()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, *given: Any
    ) -> None:
        """After one that was kept within an epoch."""
        self._look()

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """After the learning curve has been written."""
        self._look()

    def _look(self) -> None:
        found = self._found()
        if found != self.states:
            self.send()
            self.states = found

    def _found(self) -> list[int]:
        return [state.stat().st_mtime_ns for state in self.run.states]
