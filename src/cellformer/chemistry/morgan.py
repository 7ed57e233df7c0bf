"""Fingerprints of molecules: how often each of their fragments occurs."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8

from cellformer.chemistry.smiles import parse_smiles

RADIUS, COLUMNS = 2, 2048


def morgan_counts(smiles: Sequence[str]) -> UInt8[np.ndarray, "molecule column"]:
    """Counts of the fragments within two bonds of each atom, hashed into 2,048 columns.

    They depend neither on the order of the atoms nor on stereochemistry; a count above 255 is 255.
    Raises ValueError with RDKit's reason where a molecule is none. Source: Rogers and Hahn,
    "Extended-Connectivity Fingerprints" (2010), as RDKit computes them.
    """
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    generator = GetMorganGenerator(radius=RADIUS, fpSize=COLUMNS)
    rows = np.zeros((len(smiles), COLUMNS), np.uint8)
    for row, text in zip(rows, smiles, strict=True):
        counts = generator.GetCountFingerprintAsNumPy(parse_smiles(text))
        row[:] = np.minimum(counts, 255)
    return rows
