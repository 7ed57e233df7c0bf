"""Molecules that are not learned: those by which others will be judged, and second copies."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int64

from cellformer.chemistry.computed import skeleton
from cellformer.data.dataset import GraphSet
from cellformer.data.preparing.molecule_values import molecule_values
from cellformer.data.splitting.molecule_keys import number_of

NO_MOLECULE = 0
"""In the place of a skeleton, where a row has no valid molecule."""


def skeleton_numbers(smiles: Sequence[str]) -> Int64[np.ndarray, " row"]:
    """A number per molecule, equal for all forms of one (see `skeleton`)."""
    found = [skeleton(text) for text in smiles]
    numbers = [NO_MOLECULE if each is None else number_of(each) for each in found]
    return np.array(numbers, np.int64)


def among(
    source: GraphSet, others: Sequence[GraphSet], workers: int = 0
) -> Bool[np.ndarray, " row"]:
    """Which rows are, in any form, a molecule of one of the other sets.

    Raises ValueError, naming the set, for one that does not consist of SMILES.
    """
    known = [_skeletons(each, workers) for each in others]
    own = _skeletons(source, workers)
    found: Bool[np.ndarray, " row"] = np.isin(own, np.concatenate([*known, own[:0]]))
    found &= own != NO_MOLECULE
    return found


def repeated(source: GraphSet, workers: int = 0) -> Bool[np.ndarray, " row"]:
    """Which rows are a molecule, in any form, that an earlier row is too."""
    own = _skeletons(source, workers)
    later: Bool[np.ndarray, " row"] = np.ones(len(own), bool)
    later[np.unique(own, return_index=True)[1]] = False
    later &= own != NO_MOLECULE
    return later


def _skeletons(source: GraphSet, workers: int) -> Int64[np.ndarray, " row"]:
    smiles = source.smiles_or_none
    if smiles is None:
        raise ValueError(
            f"{source.name} does not consist of SMILES, so its molecules cannot be compared with "
            "others; leave data.leave_out out, or give the molecules as SMILES"
        )
    numbers: Int64[np.ndarray, " row"] = molecule_values(
        "Comparing molecules", skeleton_numbers, smiles, workers=workers
    )
    return numbers
