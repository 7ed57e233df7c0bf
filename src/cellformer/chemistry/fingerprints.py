"""Fingerprints of molecules: how often each of their fragments occurs."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8

from cellformer.chemistry.limits import MAX_ATOMS
from cellformer.chemistry.reasons import one_reason, quoted
from cellformer.chemistry.smiles import parse_smiles

RADIUS, COLUMNS = 2, 2048


def morgan_counts(smiles: Sequence[str]) -> UInt8[np.ndarray, "molecule column"]:
    """Counts of the fragments within two bonds of each atom, hashed into 2,048 columns.

    They depend neither on the order of the atoms nor on stereochemistry; a count above 255 is 255.
    Raises ValueError with RDKit's reason where a molecule is none, and where it is larger than
    `MAX_ATOMS`. Source: Rogers and Hahn, "Extended-Connectivity Fingerprints" (2010), as RDKit
    computes them.
    """
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    generator = GetMorganGenerator(radius=RADIUS, fpSize=COLUMNS)
    rows = np.zeros((len(smiles), COLUMNS), np.uint8)
    for row, text in zip(rows, smiles, strict=True):
        molecule = parse_smiles(text)
        if molecule.GetNumAtoms() > MAX_ATOMS:
            raise ValueError(
                f"{quoted(text)} has {molecule.GetNumAtoms():,} atoms; Morgan counts are made of "
                f"up to {MAX_ATOMS:,}, as they take time that grows with the square"
            )
        with one_reason(text):
            counts = generator.GetCountFingerprintAsNumPy(molecule)
        row[:] = np.minimum(counts, 255)
    return rows
