"""A set of molecules that was prepared before, and has grown at its end since."""

import logging
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from cellformer.basics.decoding import decoded
from cellformer.basics.owners import unfinished
from cellformer.basics.sealed import FaultError, read_sealed
from cellformer.complexes.many.manifest import MANIFEST
from cellformer.complexes.many.parts import read_parts, replace_parts
from cellformer.data.dataset import GraphSet, SmilesList
from cellformer.data.preparing.shards import shard_bounds

logger = logging.getLogger(__name__)

ORIGIN = "origin"
"""What the manifest of a store calls it."""


@dataclass(frozen=True)
class Origin:
    """What the rows of a store were, and how they were prepared."""

    rows: int
    graphs: str  # the digest of the source
    way: str  # a digest of what was done, and by which version

    def meta(self) -> dict[str, object]:
        """As it is remembered with a store."""
        return {ORIGIN: asdict(self)}


def begin_with_earlier(source: GraphSet, origin: Origin, prepared: Path, store: Path) -> None:
    """Copies the store of the first rows of a set of molecules to where its own is to grow.

    It is the largest one of the folder ``prepared``, if there is any; whole shards are of use. What
    is copied is compared with its checksums when it is gone on with.
    """
    graphs = source.graphs
    if store.exists() or not isinstance(graphs, SmilesList):
        return
    earlier = sorted(_earlier(origin, prepared), key=lambda each: each[0].rows, reverse=True)
    if not earlier or graphs.digest() != source.digest:
        return
    for known, folder in earlier:
        if graphs.digest(known.rows) != known.graphs:
            continue
        shards = len(set(shard_bounds(known.rows)) & set(shard_bounds(origin.rows)))
        if shards:
            _copy(folder, store, shards)
            logger.info(
                "%s: the first %d of its %d rows were prepared before (%s)",
                source.name,
                known.rows,
                origin.rows,
                folder.name,
            )
        return


def _earlier(origin: Origin, prepared: Path) -> Iterator[tuple[Origin, Path]]:
    """Stores of fewer rows, prepared in the same way."""
    for file in prepared.glob(f"*/{MANIFEST}"):
        try:
            values = read_sealed(file)
            known = decoded(Origin, values["meta"][ORIGIN], str(file))
        except (FileNotFoundError, FaultError, KeyError, TypeError, ValueError):
            continue  # it is damaged or of another version, which whoever opens it is told
        if known.way == origin.way and 0 < known.rows < origin.rows:
            yield known, file.parent


def _copy(folder: Path, store: Path, shards: int) -> None:
    """So many parts; nothing is there, or all of them."""
    for left in store.parent.glob(f".{store.name}.*.tmp"):  # of an attempt that was killed
        shutil.rmtree(left, ignore_errors=True)
    hidden = unfinished(store)
    try:
        shutil.copytree(folder, hidden)
        replace_parts(hidden, islice(read_parts(folder), shards))
        hidden.rename(store)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
