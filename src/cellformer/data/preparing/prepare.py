"""From a set of graphs to encoded complexes on disk, once for all later runs."""

import logging
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import current_process
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Int64

from cellformer import __version__
from cellformer.basics.cache import cache_entry, writable_entry
from cellformer.basics.files import blamed
from cellformer.basics.owners import clear_once
from cellformer.complexes.descriptors import with_columns
from cellformer.complexes.many.manifest import FORMAT_VERSION, Meta
from cellformer.complexes.many.parts import StoreError
from cellformer.complexes.many.ragged import RaggedComplexes, ranges
from cellformer.complexes.many.remote import is_store_at, open_remote
from cellformer.complexes.many.store import open_ragged
from cellformer.complexes.patches import Patch
from cellformer.data.complex_list import ComplexList
from cellformer.data.dataset import GraphSet, digest_of
from cellformer.data.identity import identity
from cellformer.data.preparing.assembling import STORE, Assembly
from cellformer.data.preparing.earlier import Origin, begin_with_earlier
from cellformer.data.preparing.executors import NO_MAIN_GUARD, LocalProcesses, one_by_one
from cellformer.data.preparing.making import Failure, PreparationError, failure_of
from cellformer.data.preparing.mending import mended
from cellformer.data.preparing.shards import ShardExecutor, SlowParts
from cellformer.encodings.encode import Encoding
from cellformer.lifting.lift import Lifting

logger = logging.getLogger(__name__)

PREPARATION_VERSION = 7
"""Raised whenever the same lifting and encodings of the same graphs give another store."""

REMOTE = "CELLFORMER_REMOTE"
"""In the environment, the URL of a folder where prepared sets are looked for beside the cache."""

OverLimitRows: TypeAlias = Literal["fail", "skip"]


class NoComplexError(ValueError):
    """No row of a source has a complex; ``failures`` says why, for each row."""

    def __init__(self, message: str, failures: tuple[tuple[int, str], ...]):
        super().__init__(message, failures)
        self.failures = failures

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, eq=False)
class Prepared:
    """Encoded complexes of a graph set, and which rows they come from."""

    complexes: RaggedComplexes  # memory-mapped, with the targets of their rows
    rows: Int64[np.ndarray, " complex"]  # the row of the source of each complex, ascending
    failures: tuple[tuple[int, str], ...]  # rows without a complex, with the reason
    slow: SlowParts | None = None
    """What had to be prepared one by one in this call, where anything had."""
    patches: tuple[Patch, ...] | None = None
    """Of each complex, what part of its row's it is; None where rows are not cut."""

    def numbers(self, rows: Int64[np.ndarray, " row"]) -> Int64[np.ndarray, " complex"]:
        """The complexes of these rows of the source, in their order; failed rows have none."""
        ends = (np.searchsorted(self.rows, rows, side=side) for side in ("left", "right"))
        return ranges(*ends)[0]


def prepare(
    graph_set: GraphSet,
    lifting: Lifting,
    encodings: Sequence[Encoding],
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    workers: int = 0,
    progress: bool = True,
    over_limit: OverLimitRows = "fail",
    executor: ShardExecutor | None = None,
) -> Prepared:
    """Lifts and encodes every graph, or opens what an earlier call stored.

    The store is found again by a hash of the graphs, the lifting, the encodings and the version
    of this package. Interrupted work goes on where it stopped, and a set of molecules that was
    prepared with fewer rows, to which others were added at its end, goes on with a copy of that
    store; either has the bytes of work that was done at once. Of several processes one works and
    the others wait. With ``workers`` > 0 that many processes are spawned, so a script must
    have the usual ``if __name__ == "__main__"``; an ``executor`` makes the same store elsewhere
    instead (`RayShards` on a cluster). A lifting or an encoding that cannot be told
    apart from a changed one (see `identity`) is prepared anew every time.

    What a lifting or an encoding raises when it takes many graphs at once is told in the log, once,
    and these rows are taken one by one; ``slow`` of the result counts them.

    Rows without a valid graph are reported in ``failures``. A graph over the lifting's limit is
    too with over_limit="skip", else raises PreparationError. Raises NoComplexError if no row is
    left.
    """
    if workers < 0:
        raise ValueError(f"workers must be 0 or more, got {workers}")
    if over_limit not in ("fail", "skip"):
        raise ValueError(f"over_limit must be 'fail' or 'skip', got {over_limit!r}")
    if getattr(current_process(), "_inheriting", False):
        # A spawned process is importing the caller's script; the lock is its parent's.
        raise RuntimeError(NO_MAIN_GUARD)
    if executor is None:
        usable = _usable(workers, lifting, encodings)
        executor = LocalProcesses(usable) if usable else one_by_one
    job = _Job(graph_set, lifting, tuple(encodings), executor, progress, over_limit)
    named = identity((lifting, tuple(encodings)))
    if named is None:
        logger.warning(
            "%s is prepared without a cache: %r and %r cannot be told apart from changed ones",
            graph_set.name,
            lifting,
            list(encodings),
        )
        return job.opened(_uncached(job))
    version = f"{__version__}, {PREPARATION_VERSION}, {FORMAT_VERSION}"
    key = digest_of([version, graph_set.digest, named])[:32]
    folder = cache_entry("prepared", key, cache_dir)
    origin = Origin(len(graph_set), graph_set.digest, digest_of([version, named]))
    return job.opened(_cached(job, folder, origin))


@dataclass(frozen=True, eq=False)
class _Job:
    """What `prepare` was asked for."""

    source: GraphSet
    lifting: Lifting
    encodings: tuple[Encoding, ...]
    executor: ShardExecutor
    shown: bool
    over_limit: OverLimitRows

    def opened(self, stored: "_Stored") -> Prepared:
        """The result; raises where the caller does not accept the failures."""
        complexes, failures = stored.complexes, stored.failures
        self.check(failures)
        reasons = self.source.faults | {failure.row: failure.reason for failure in failures}
        rows = np.setdiff1d(np.arange(len(self.source)), list(reasons))
        made = np.setdiff1d(np.arange(len(self.source)), [failure.row for failure in failures])
        if not len(rows):
            raise NoComplexError(
                f"{self.source.name}: none of {len(self.source)} rows can be used; row "
                f"{min(reasons)}: {reasons[min(reasons)]}",
                tuple(sorted(reasons.items())),
            )
        if len(rows) < len(made):
            complexes = complexes.take(np.flatnonzero(np.isin(made, rows)))
        task = self.source.task_or_none
        targets = self.source.targets_of(rows) if task else None
        if task is not None and task.rank is not None:
            check_cells(self.source, rows, complexes, task.rank)
            if task.flips:
                check_orientations(self.source, rows, complexes, task.rank)
        return Prepared(
            replace(
                complexes,
                targets=targets,
                target_rank=task.rank if task else None,
                descriptors=with_columns(complexes.descriptors, self.source.columns_of(rows)),
                bounds=None if self.source.bounds is None else self.source.bounds[rows],
            ),
            rows,
            tuple(sorted(reasons.items())),
            stored.slow,
        )

    def check(self, failures: Sequence[Failure]) -> None:
        """Raises PreparationError at the first graph over the limit, unless it may be skipped."""
        over = [failure for failure in failures if failure.over_limit]
        if over and self.over_limit == "fail":
            raise beyond_limits(self.source, over[0].row, over[0].reason)


def check_cells(
    source: GraphSet, rows: Int64[np.ndarray, " complex"], complexes: RaggedComplexes, rank: int
) -> None:
    """Raises ValueError, naming the row, unless every cell of the rank has its target."""
    if rank >= len(complexes.ranks):
        raise ValueError(
            f"{source.name} has targets for cells of rank {rank}, but its complexes have none; "
            "choose another lifting"
        )
    assert source.cell_offsets is not None
    cells = np.diff(complexes.ranks[rank].offsets)
    targets = np.diff(source.cell_offsets)[rows]
    if (cells != targets).any():
        at = int((cells != targets).argmax())
        raise ValueError(unequal(source, int(rows[at]), rank, int(cells[at]), int(targets[at])))


def beyond_limits(source: GraphSet, row: int, reason: str) -> PreparationError:
    """What is raised for a graph over a limit of the lifting."""
    return PreparationError(
        f"{source.name}, row {row} (counted from 0): {reason}, or "
        "skip such graphs (data.over_limit=skip; in Python over_limit='skip')",
        row,
    )


def unequal(source: GraphSet, row: int, rank: int, cells: int, targets: int) -> str:
    """What is said of a row that has not one target for each of its cells of a rank."""
    return (
        f"{source.name}, row {row} (counted from 0): {cells} cells of rank {rank} and {targets} "
        "targets; the lifting has to keep the cells that they belong to"
    )


def check_orientations(
    source: GraphSet, rows: Int64[np.ndarray, " complex"], complexes: RaggedComplexes, rank: int
) -> None:
    """Raises ValueError, naming the row, unless cells are oriented as their targets are meant.

    That is, where the source brings complexes, as these; edges of a graph run from the lower to the
    higher vertex number. Faces that only the lifting makes are oriented by it.
    """
    if rank == 0:
        return
    prepared, listed = complexes.ranks[rank], source.graphs
    if isinstance(listed, ComplexList):
        own = [listed.complexes[row].boundary(rank) for row in rows.tolist()]
        faces = np.concatenate([boundary.indices for boundary in own])
        signs = np.concatenate([boundary.data for boundary in own])
    elif rank == 1:
        faces = np.sort(prepared.faces.reshape(-1, 2), axis=1).ravel()
        signs = np.tile(np.array([-1, 1], np.int8), len(faces) // 2)
    else:
        return
    unlike = (
        np.flatnonzero((faces != prepared.faces) | (signs != prepared.signs))
        if len(faces) == len(prepared.faces)
        else [0]
    )
    if len(unlike):
        cell = np.searchsorted(prepared.face_offsets, unlike[0], side="right") - 1
        at = int(np.searchsorted(prepared.offsets, cell, side="right")) - 1
        raise ValueError(
            f"{source.name}, row {rows[at]} (counted from 0): cell {cell - prepared.offsets[at]} "
            f"of rank {rank} is not oriented as its target is meant, which flips with it; the "
            "lifting has to keep the cells as they are (data.lifting auto)"
        )


@dataclass(frozen=True, eq=False)
class _Stored:
    """What lies in the cache, or in memory without one."""

    complexes: RaggedComplexes
    failures: tuple[Failure, ...]
    slow: SlowParts | None = None  # of the work done now


def _cached(job: _Job, folder: Path, origin: Origin) -> _Stored:
    """Opens the store or makes it; one process at a time."""
    from filelock import FileLock, Timeout

    try:
        return _open(folder)
    except StoreError:  # absent or damaged; or another process has just moved it aside
        pass
    elsewhere = os.environ.get(REMOTE)
    if elsewhere:
        url = f"{elsewhere.rstrip('/')}/{folder.name}"
        if is_store_at(url):
            logger.info("%s is read from %s", job.source.name, url)
            return _stored(url, *open_remote(url, folder.parents[1]))
        logger.info("%s is not at %s and is prepared here", job.source.name, url)
    folder = writable_entry(folder)
    clear_once(folder.parent)
    lock = FileLock(f"{folder}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.info("%s is being prepared by another process; waiting for it", job.source.name)
        lock.acquire()
    shards = folder.with_name(f"{folder.name}.shards")
    try:
        if folder.exists():
            try:
                return _open(folder)  # another process may have made it meanwhile
            except StoreError as error:
                found = _mended(job, folder, error.fault, shards)
                if found is not None:
                    return found
                aside = _set_aside(folder)
                logger.warning("%s; it is kept as %s and made again", error.fault, aside)
        for abandoned in folder.parent.glob(f".{folder.name}.*.tmp"):
            shutil.rmtree(abandoned, ignore_errors=True)
        with blamed(folder):
            begin_with_earlier(job.source, origin, folder.parent, shards / STORE)
            made = _make(job, shards, folder, origin.meta())
        shutil.rmtree(shards, ignore_errors=True)
        return made
    finally:
        lock.release()


def _mended(job: _Job, folder: Path, fault: str, shards: Path) -> _Stored | None:
    """What lies in the cache after its damaged parts were made again; None where that is no way."""
    assembly = Assembly(job.source, job.lifting, job.encodings, shards)
    if not mended(folder, fault, assembly, job.executor):
        return None
    shutil.rmtree(shards, ignore_errors=True)
    try:
        return _open(folder)
    except StoreError:  # its indices point outside though all checksums are right
        return None


def _set_aside(folder: Path) -> Path:
    """Moves a damaged store out of the way, in the place of the one before it."""
    aside = folder.with_name(f"{folder.name}.damaged")
    shutil.rmtree(aside, ignore_errors=True)
    return folder.rename(aside)


def _uncached(job: _Job) -> _Stored:
    """Makes the store in a folder that is gone when the arrays are no longer used."""
    with tempfile.TemporaryDirectory(prefix="cellformer-") as folder:
        made = _make(job, Path(folder) / "shards", Path(folder) / "store", {})
        in_memory = made.complexes.take(np.arange(len(made.complexes)))
        return replace(made, complexes=in_memory)


def _open(folder: Path) -> _Stored:
    """What lies in the cache; raises StoreError where it is absent or damaged."""
    return _stored(str(folder), *open_ragged(folder, verify="late"))


def _stored(place: str, complexes: RaggedComplexes, meta: Meta) -> _Stored:
    try:
        failures = tuple(failure_of(each) for each in meta["failures"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{place} does not say which rows failed ({error!r})", "delete it") from (
            None
        )
    return _Stored(complexes, failures)


def _make(job: _Job, shards: Path, folder: Path, meta: Mapping[str, object]) -> _Stored:
    assembly = Assembly(job.source, job.lifting, job.encodings, shards)
    made = assembly.assembled(job.executor, job.check, job.shown)
    if made.slow is not None:
        logger.warning("%s: %s", job.source.name, made.slow)
    if not made.store.complexes:
        first = f"; row {made.failures[0].row}: {made.failures[0].reason}" if made.failures else ""
        raise NoComplexError(
            f"{job.source.name}: none of {len(job.source)} rows has a complex{first}",
            tuple((failure.row, failure.reason) for failure in made.failures),
        )
    told = {
        **meta,
        "source": job.source.name,
        "cellformer": __version__,
        "lifting": repr(job.lifting),
        "encodings": [repr(encoding) for encoding in job.encodings],
        "failures": [failure.told() for failure in made.failures],
    }
    made.store.finish(folder, told)
    return _Stored(open_ragged(folder, verify="late")[0], made.failures, made.slow)


def _usable(workers: int, lifting: Lifting, encodings: Sequence[Encoding]) -> int:
    """The number of processes, 0 if the functions cannot be sent to any."""
    if not workers:
        return 0
    try:
        pickle.dumps((lifting, tuple(encodings)))
    except Exception as error:  # pickle raises many kinds
        reason = str(error)
    else:
        homes = {function.__module__ for function in (lifting, *encodings)}
        if "__main__" not in homes or getattr(sys.modules["__main__"], "__file__", None):
            return workers
        reason = "it is defined in an interactive session"
    logger.warning("prepared in one process, as a function cannot be sent to others: %s", reason)
    return 0
