"""Which rows are the same molecule, and whether any is in two parts of a split."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray

from cellformer.basics.archives import kept_arrays
from cellformer.basics.cache import cache_entry
from cellformer.basics.files import replace_atomically
from cellformer.basics.progress import progress
from cellformer.chemistry.canonical import canonical_smiles
from cellformer.data.dataset import PARTS, digest_of

SHOWN_FROM = 2000  # rows for which the time is worth a bar


def molecule_keys(
    smiles: Sequence[str], cache_dir: str | os.PathLike[str] | None = None, shown: bool = True
) -> Int64[np.ndarray, " row"]:
    """A number per row, equal for two rows if they have the same canonical SMILES.

    Stereochemistry, charges, isotopes and salts count. A row without a valid molecule equals no
    other. Numbers are kept in the cache.
    """
    from rdkit import __version__

    key = digest_of(chain(("1", __version__), smiles))[:32]
    kept = cache_entry("molecule-keys", f"{key}.npz", cache_dir)
    known = (kept_arrays(kept) or {}).get("keys")
    if known is not None and known.shape == (len(smiles),) and known.dtype == np.int64:
        return known
    keys: Int64[np.ndarray, " row"] = np.zeros(len(smiles), np.int64)
    with progress("Comparing molecules", len(smiles), shown and len(smiles) >= SHOWN_FROM) as done:
        for row, text in enumerate(smiles):
            canonical = canonical_smiles(text)
            content = f"row {row}" if canonical is None else canonical
            keys[row] = number_of(content)
            done(1)
    with replace_atomically(kept, durable=False) as unfinished, unfinished.open("wb") as file:
        np.savez(file, allow_pickle=False, keys=keys)
    return keys


def number_of(content: str) -> int:
    """A number of 64 bits with a sign that tells texts apart."""
    digest = hashlib.blake2b(content.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@dataclass(frozen=True)
class Leak:
    """A molecule that is in several parts of a split."""

    rows: Mapping[str, tuple[int, ...]]  # of each part that has it


def leaks(
    split: Mapping[str, NDArray[np.integer]], keys: Int64[np.ndarray, " row"]
) -> tuple[Leak, ...]:
    """The molecules that are in more than one part, by their first row."""
    members = [split[part] for part in PARTS]
    rows = np.concatenate(members).astype(np.int64)
    part = np.repeat(np.arange(len(PARTS)), [len(each) for each in members])
    order = np.lexsort((rows, keys[rows]))
    rows, part = rows[order], part[order]
    starts = np.flatnonzero(np.r_[True, keys[rows][1:] != keys[rows][:-1]])
    ends = np.append(starts[1:], len(rows))
    found = []
    for start, end in np.stack([starts, ends], axis=1)[ends - starts > 1]:
        mine, its = rows[start:end], part[start:end]
        if len(set(its)) > 1:
            found.append(
                Leak(
                    {
                        name: tuple(mine[its == number].tolist())
                        for number, name in enumerate(PARTS)
                        if (its == number).any()
                    }
                )
            )
    return tuple(sorted(found, key=lambda leak: min(map(min, leak.rows.values()))))
