"""Values of many molecules, computed in parallel and kept in the cache, stretch after stretch."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cellformer.basics.archives import kept_arrays
from cellformer.basics.cache import cache_entry
from cellformer.basics.files import replace_atomically
from cellformer.basics.progress import progress
from cellformer.data.dataset import digest_of
from cellformer.data.preparing.executors import LocalProcesses, one_by_one

STRETCH = 2048
"""Molecules that are computed and kept together."""
SHOWN_FROM = 2000
"""Molecules for which the time is worth a bar."""

Values: TypeAlias = NDArray[Any]
Compute: TypeAlias = Callable[[Sequence[str]], Values]


@dataclass(frozen=True)
class Stretch:
    """Molecules whose values are to be computed, anywhere that sees the file to write."""

    start: int
    smiles: tuple[str, ...]
    compute: Compute
    file: Path

    def __call__(self) -> Values:
        """Computes and keeps them."""
        values = self.compute(self.smiles)
        with (
            replace_atomically(self.file, durable=False) as unfinished,
            unfinished.open("wb") as file,
        ):
            np.savez(file, allow_pickle=False, values=values)
        return values


def molecule_values(
    title: str,
    compute: Compute,
    smiles: Sequence[str],
    *,
    workers: int = 0,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Values:
    """What ``compute`` gives for all molecules, a row for each; from the cache where it is.

    ``compute`` is a function of a module, and must give an array with a row for each SMILES. With
    ``workers`` > 0 that many processes compute. What was computed is kept if the work is
    interrupted. ``title`` stands before the progress.
    """
    found: dict[int, Values] = {}
    missing: set[int] = set()
    for stretch in _stretches(compute, smiles, cache_dir):
        known = (kept_arrays(stretch.file) or {}).get("values")
        if known is not None and len(known) == len(stretch.smiles):
            found[stretch.start] = known
        else:
            missing.add(stretch.start)
    done_before = sum(map(len, found.values()))
    execute = LocalProcesses(workers) if workers else one_by_one
    shown = len(smiles) - done_before >= SHOWN_FROM
    with progress(title, len(smiles), shown, done=done_before) as done:
        every = _stretches(compute, smiles, cache_dir) if missing else ()
        for start, values in execute(each for each in every if each.start in missing):
            found[start] = values
            done(len(values))
    if not found:
        return compute(())
    return np.concatenate([found[start] for start in sorted(found)])


def _stretches(
    compute: Compute, smiles: Sequence[str], cache_dir: str | os.PathLike[str] | None
) -> Iterator[Stretch]:
    from rdkit import __version__

    name = f"{compute.__module__}.{compute.__qualname__}"
    for start in range(0, len(smiles), STRETCH):
        own = tuple(smiles[start : start + STRETCH])
        key = digest_of(["1", __version__, name, *own])[:32]
        yield Stretch(start, own, compute, cache_entry("molecule-values", f"{key}.npz", cache_dir))
