"""All that RDKit computes of a molecule as a whole: what a network can learn without labels."""

import warnings
from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxtyping import Float32
from rdkit import rdBase

from cellformer.chemistry.limits import MAX_COMPUTED_ATOMS
from cellformer.chemistry.reasons import one_reason
from cellformer.chemistry.smiles import parse_smiles

LEFT_OUT = frozenset({"Ipc"})
"""An information content that grows exponentially with the molecule; its average stays."""


@cache
def computed_names() -> tuple[str, ...]:
    """The values, by RDKit's names: about 130 descriptors, and 85 counts of fragments (fr_...)."""
    from rdkit.Chem import Descriptors

    return tuple(name for name, _ in Descriptors.descList if name not in LEFT_OUT)


def computed_values(smiles: Sequence[str]) -> Float32[np.ndarray, "molecule value"]:
    """The values of some molecules, in the order of `computed_names`; NaN where there is none.

    A molecule that cannot be read, or has more than `MAX_COMPUTED_ATOMS`, has none. Source: the
    manual of RDKit, ``rdkit.Chem.Descriptors``.
    """
    rows = np.full((len(smiles), len(computed_names())), np.nan, np.float64)
    with rdBase.BlockLogs(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for row, text in zip(rows, smiles, strict=True):
            row[:] = _of(text)
    with np.errstate(over="ignore"):
        told = rows.astype(np.float32)
    told[~np.isfinite(told)] = np.nan
    return told


def _of(smiles: str) -> Sequence[float]:
    from rdkit.Chem import Descriptors

    none = [np.nan] * len(computed_names())
    try:
        molecule = parse_smiles(smiles)
        if molecule.GetNumAtoms() > MAX_COMPUTED_ATOMS:
            return none
        with one_reason(smiles):
            found: dict[str, float] = Descriptors.CalcMolDescriptors(  # type: ignore[no-untyped-call]
                molecule, missingVal=np.nan, silent=True
            )
    except ValueError:
        return none
    return [float(found[name]) for name in computed_names()]
