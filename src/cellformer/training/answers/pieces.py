"""A table that is answered piece by piece, whatever its size."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice

from cellformer.basics.cache import cache_entry
from cellformer.basics.owners import passing
from cellformer.basics.progress import progress
from cellformer.data.preparation import Source
from cellformer.data.tables.table import Table, is_table, opened_pieces
from cellformer.training.answers.ensemble import Ensemble


@contextmanager
def large_table(
    ensemble: Ensemble, source: Source
) -> Iterator[tuple[Source, Iterator[Table] | None]]:
    """A source, and the pieces of a file that has several; None for any other, to be read whole.

    So are tables with descriptors of their own, whose columns are read as all of their cells say.
    A file of one piece comes as the table that was read. Meanwhile a bar counts the rows.
    """
    preparation = ensemble.runs[0].preparation
    whole = preparation.reader is not None or preparation.columns
    if whole or not isinstance(source, str | os.PathLike) or not is_table(source):
        yield source, None
        return
    with opened_pieces(source, preparation.separator, preparation.charset) as pieces:
        first = [] if pieces is None else [*islice(pieces, 2)]
        if pieces is None or len(first) < 2:
            yield first[0] if first else source, None
            return
        with progress("Reading and answering", None, whole=True) as done:
            yield source, _counted(chain(first, pieces), done)


def _counted(pieces: Iterable[Table], done: Callable[[int], None]) -> Iterator[Table]:
    for piece in pieces:
        yield piece
        done(len(piece))


@contextmanager
def in_own_cache(ensemble: Ensemble) -> Iterator[Ensemble]:
    """The models, which prepare what they are given in a folder of its own, which then goes."""
    first, *others = ensemble.runs
    with passing(cache_entry("answered", "piece")) as folder:
        yield replace(ensemble, runs=(replace(first, cache_dir=folder), *others))


def in_pieces(ensemble: Ensemble, tables: Iterable[Table]) -> Iterator[tuple[Table, Ensemble]]:
    """Each table with models that prepare it in a folder of its own, which then goes."""
    for table in tables:
        with in_own_cache(ensemble) as own:
            yield table, own
