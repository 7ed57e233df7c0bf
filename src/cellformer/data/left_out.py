"""Molecules that are not learned: those by which others will be judged, and second copies."""

from collections.abc import Sequence
from itertools import islice

import numpy as np
from jaxtyping import Bool, Int64

from cellformer.chemistry.skeletons import skeletons
from cellformer.data.dataset import GraphSet
from cellformer.data.preparing.molecule_values import molecule_values
from cellformer.data.splitting.molecule_keys import number_of

NO_MOLECULE = 0
"""In the place of a skeleton, where a row has no valid molecule or no further fragment."""
MOST_FRAGMENTS = 4
"""That are compared, the largest ones."""


def fragment_numbers(smiles: Sequence[str]) -> Int64[np.ndarray, "row fragment"]:
    """A number per fragment, the largest first, equal for all forms of one (see `skeletons`)."""
    numbers = np.full((len(smiles), MOST_FRAGMENTS), NO_MOLECULE, np.int64)
    for row, text in zip(numbers, smiles, strict=True):
        found = [number_of(each) for each in islice(skeletons(text), MOST_FRAGMENTS)]
        row[: len(found)] = found
    return numbers


def among(
    source: GraphSet, others: Sequence[GraphSet], workers: int = 0
) -> Bool[np.ndarray, " row"]:
    """Which rows have, in any form, a molecule of one of the other sets.

    A salt or a mixture has the molecules that are its fragments. Raises ValueError, naming the set,
    for one that does not consist of SMILES.
    """
    known = [_fragments(each, workers).ravel() for each in others]
    own = _fragments(source, workers)
    found: Bool[np.ndarray, " row"]
    found = (np.isin(own, np.concatenate([*known, own[:0, 0]])) & (own != NO_MOLECULE)).any(axis=1)
    return found


def repeated(source: GraphSet, workers: int = 0) -> Bool[np.ndarray, " row"]:
    """Which rows are a molecule, in any form, that an earlier row is too: by largest fragments."""
    own = _fragments(source, workers)[:, 0]
    later: Bool[np.ndarray, " row"] = np.ones(len(own), bool)
    later[np.unique(own, return_index=True)[1]] = False
    later &= own != NO_MOLECULE
    return later


def _fragments(source: GraphSet, workers: int) -> Int64[np.ndarray, "row fragment"]:
    smiles = source.smiles_or_none
    if smiles is None:
        raise ValueError(
            f"{source.name} does not consist of SMILES, so its molecules cannot be compared with "
            "others; leave data.leave_out out, or give the molecules as SMILES"
        )
    numbers: Int64[np.ndarray, "row fragment"] = molecule_values(
        "Comparing molecules", fragment_numbers, smiles, workers=workers
    )
    return numbers
