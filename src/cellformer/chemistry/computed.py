"""All that RDKit computes of a molecule as a whole: what a network can learn without labels."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from jaxtyping import Float32, UInt8
from rdkit import Chem, rdBase

from cellformer.chemistry.fingerprints import COLUMNS, morgan_counts
from cellformer.chemistry.limits import MAX_COMPUTED_ATOMS
from cellformer.chemistry.smiles import parse_smiles

LEFT_OUT = frozenset({"Ipc"})
"""An information content that grows exponentially with the molecule; its average stays."""
ANEW = "EStateIndex"
"""Ends the names of values that are made of the same indices, computed anew unless told not to."""


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


def computed_fragments(smiles: Sequence[str]) -> UInt8[np.ndarray, "molecule column"]:
    """The `morgan_counts` of some molecules; zeros where `computed_values` has none."""
    rows = np.zeros((len(smiles), COLUMNS), np.uint8)
    with rdBase.BlockLogs():
        for row, text in zip(rows, smiles, strict=True):
            try:
                if parse_smiles(text).GetNumAtoms() <= MAX_COMPUTED_ATOMS:
                    row[:] = morgan_counts((text,))[0]
            except ValueError:
                continue
    return rows


def _of(smiles: str) -> Sequence[float]:
    none = [np.nan] * len(computed_names())
    try:
        molecule = parse_smiles(smiles)
    except ValueError:
        return none
    if molecule.GetNumAtoms() > MAX_COMPUTED_ATOMS:
        return none
    return [_value(name, compute, molecule) for name, compute in _computed_by()]


@cache
def _computed_by() -> tuple[tuple[str, Callable[..., float]], ...]:
    from rdkit.Chem import Descriptors

    functions = dict(Descriptors.descList)
    return tuple((name, functions[name]) for name in computed_names())


def _value(name: str, compute: Callable[..., float], molecule: Chem.Mol) -> float:
    # Descriptors.CalcMolDescriptors catches everything, so that a signal to stop would be lost.
    try:
        return float(compute(molecule, force=False) if name.endswith(ANEW) else compute(molecule))
    except Exception:  # of any kind: RDKit's own, or of its arithmetic
        return np.nan
