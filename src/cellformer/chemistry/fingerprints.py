"""Fingerprints of molecules: how often each of their fragments occurs."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import UInt8

from cellformer.chemistry.limits import MAX_ATOMS, MAX_PAIRED_ATOMS
from cellformer.chemistry.reasons import one_reason, quoted
from cellformer.chemistry.smiles import parse_smiles

RADIUS, COLUMNS = 2, 2048
PATH = 5
FINGERPRINTS = 4

Generator: TypeAlias = Any  # RDKit has no types for them


def morgan_counts(smiles: Sequence[str]) -> UInt8[np.ndarray, "molecule column"]:
    """Counts of the fragments within two bonds of each atom, hashed into 2,048 columns.

    They depend neither on the order of the atoms nor on stereochemistry; a count above 255 is 255.
    Raises ValueError with RDKit's reason where a molecule is none, and where it is larger than
    `MAX_ATOMS`. Source: Rogers and Hahn, "Extended-Connectivity Fingerprints" (2010), as RDKit
    computes them.
    """
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    return _counts(smiles, (_made(GetMorganGenerator, radius=RADIUS),))


def fingerprint_counts(smiles: Sequence[str]) -> UInt8[np.ndarray, "molecule column"]:
    """Four fingerprints side by side, of 2,048 columns each.

    Those of `morgan_counts`; the same of atoms told apart only by their chemical role (donor,
    acceptor, aromatic, halogen, basic, acidic); pairs of atoms with their distance, none for a
    molecule of more than `MAX_PAIRED_ATOMS`; paths of up to five bonds. Otherwise as
    `morgan_counts`. Sources: Rogers and Hahn, "Extended-Connectivity Fingerprints" (2010); Carhart
    et al., "Atom pairs as molecular features" (1985); the manual of RDKit, which computes them.
    """
    from rdkit.Chem.rdFingerprintGenerator import (
        GetAtomPairGenerator,
        GetMorganFeatureAtomInvGen,
        GetMorganGenerator,
        GetRDKitFPGenerator,
    )

    roles = GetMorganFeatureAtomInvGen()
    generators = (
        _made(GetMorganGenerator, radius=RADIUS),
        _made(GetMorganGenerator, radius=RADIUS, atomInvariantsGenerator=roles),
        _made(GetAtomPairGenerator),
        _made(GetRDKitFPGenerator, maxPath=PATH),
    )
    return _counts(smiles, generators, pairs=2)


def _made(kind: Callable[..., Generator], **arguments: object) -> Generator:
    return kind(fpSize=COLUMNS, **arguments)


def _counts(
    smiles: Sequence[str], generators: Sequence[Generator], pairs: int | None = None
) -> UInt8[np.ndarray, "molecule column"]:
    """The number ``pairs`` is that of the generator which counts pairs of atoms, if one does."""
    rows = np.zeros((len(smiles), len(generators), COLUMNS), np.uint8)
    for row, text in zip(rows, smiles, strict=True):
        molecule = parse_smiles(text)
        atoms = molecule.GetNumAtoms()
        if atoms > MAX_ATOMS:
            raise ValueError(
                f"{quoted(text)} has {atoms:,} atoms; fingerprints are made of up to "
                f"{MAX_ATOMS:,}, as they take time that grows with the square"
            )
        with one_reason(text):
            for number, generator in enumerate(generators):
                if number != pairs or atoms <= MAX_PAIRED_ATOMS:
                    counts = generator.GetCountFingerprintAsNumPy(molecule)
                    row[number] = np.minimum(counts, 255)
    return rows.reshape(len(rows), -1)
