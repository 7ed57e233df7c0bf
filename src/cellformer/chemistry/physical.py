"""Physical and chemical values of molecules, as RDKit estimates them."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float32
from rdkit import Chem

from cellformer.chemistry.reasons import one_reason
from cellformer.chemistry.smiles import parse_smiles

PROPERTIES = (
    "exactmw", "lipinskiHBA", "lipinskiHBD", "NumRotatableBonds", "NumHBD", "NumHBA",
    "NumHeavyAtoms", "NumAtoms", "NumHeteroatoms", "NumAmideBonds", "FractionCSP3", "NumRings",
    "NumAromaticRings", "NumAliphaticRings", "NumSaturatedRings", "NumHeterocycles",
    "NumAromaticHeterocycles", "NumSaturatedHeterocycles", "NumAliphaticHeterocycles",
    "NumSpiroAtoms", "NumBridgeheadAtoms", "NumAtomStereoCenters",
    "NumUnspecifiedAtomStereoCenters", "labuteASA", "tpsa", "CrippenClogP", "CrippenMR", "chi0v",
    "chi1v", "chi2v", "chi3v", "chi4v", "chi0n", "chi1n", "chi2n", "chi3n", "chi4n",
    "hallKierAlpha", "kappa1", "kappa2", "kappa3", "Phi",
)  # fmt: skip
"""By their names in RDKit."""
GROUPS = (len(PROPERTIES), 12, 10, 14, 42)
"""The numbers of properties, of surfaces by contribution to log P, by refractivity and by charge,
and of molecular quantum numbers, as they stand side by side."""
VALUES = sum(GROUPS)


def physical_values(smiles: Sequence[str]) -> Float32[np.ndarray, "molecule value"]:
    """The `PROPERTIES`, surface by contribution to log P, refractivity and charge, and MQNs.

    The molecular quantum numbers (MQN) are 42 counts of atoms, bonds, polar groups and rings. A
    value v is told as sign(v) log(1 + abs(v)), so that none is far away, and as NaN where RDKit has
    none. The order of the atoms changes nothing but the last digits. **log P is estimated by the
    contributions of Wildman and Crippen**: where a target is made of it, it is given away. Raises
    ValueError with RDKit's reason where a molecule is none. Sources: the manual of RDKit; Nguyen et
    al., "Classification of Organic Molecules by Molecular Quantum Numbers" (2009).
    """
    rows = np.zeros((len(smiles), VALUES), np.float64)
    for row, text in zip(rows, smiles, strict=True):
        molecule = parse_smiles(text)
        with one_reason(text):
            row[:] = list(_of(molecule))
    rows[~np.isfinite(rows)] = np.nan
    told: Float32[np.ndarray, "molecule value"] = np.sign(rows) * np.log1p(np.abs(rows))
    return told.astype(np.float32)


def _of(molecule: Chem.Mol) -> Iterator[float]:
    from rdkit.Chem import rdMolDescriptors

    yield from rdMolDescriptors.Properties(PROPERTIES).ComputeProperties(molecule)
    yield from rdMolDescriptors.SlogP_VSA_(molecule)
    yield from rdMolDescriptors.SMR_VSA_(molecule)
    yield from rdMolDescriptors.PEOE_VSA_(molecule)
    yield from rdMolDescriptors.MQNs_(molecule)
