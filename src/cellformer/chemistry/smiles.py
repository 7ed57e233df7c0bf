"""A molecule's atoms and bonds with the integer features of the Open Graph Benchmark.

Source: the ``mol2graph`` scheme of ogb 1.3.6, by its published lists. Every list ends with a
category for values that it does not name.

The scheme tells chirality by the order in which the neighbors of an atom are written, so that one
molecule has other features when its atoms are numbered otherwise. The scheme "standard" puts the
labels of Cahn, Ingold and Prelog in the place of that column and of the stereo of bonds.
"""

import re

import numpy as np
from jaxtyping import Int64
from rdkit import Chem, rdBase

from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.chemistry.stereo import stereo_labels
from cellformer.chemistry.zinc_types import zinc_types

_CHIRALITY = {
    "CHI_UNSPECIFIED": 0,
    "CHI_TETRAHEDRAL_CW": 1,
    "CHI_TETRAHEDRAL_CCW": 2,
    "CHI_OTHER": 3,
}
_HYBRIDIZATION = {"SP": 0, "SP2": 1, "SP3": 2, "SP3D": 3, "SP3D2": 4}
_BOND = {"SINGLE": 0, "DOUBLE": 1, "TRIPLE": 2, "AROMATIC": 3}
_STEREO = {
    "STEREONONE": 0,
    "STEREOZ": 1,
    "STEREOE": 2,
    "STEREOCIS": 3,
    "STEREOTRANS": 4,
    "STEREOANY": 5,
}

ATOM_CATEGORIES = (119, 5, 12, 12, 10, 6, 6, 2, 2)
"""Categories of: atomic number, chirality, degree, formal charge, hydrogens, radical electrons,
hybridization, aromatic, in a ring."""
BOND_CATEGORIES = (5, 6, 2)
"""Categories of: type, stereo, conjugated."""

CHIRALITY, STEREO = 1, 1
"""The columns, of atoms and of bonds, that tell the two schemes apart."""


def parse_smiles(smiles: str) -> Chem.Mol:
    """RDKit's sanitized molecule; raises ValueError with RDKit's reason where there is none."""
    if not smiles.strip():
        raise ValueError("the SMILES is empty")
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None:  # find out why
            parsed = Chem.MolFromSmiles(smiles, sanitize=False)
            if parsed is None:
                raise ValueError(f"{smiles!r} is not a SMILES string{_syntax_error(smiles)}")
            problems = Chem.DetectChemistryProblems(parsed)
            reason = f": {problems[0].Message()}" if problems else ""
            raise ValueError(f"{smiles!r} is not a valid molecule{reason}")
    if not molecule.GetNumAtoms():
        raise ValueError(f"{smiles!r} has no atoms")
    return molecule


def _syntax_error(smiles: str) -> str:
    """What RDKit logs about a string that it cannot parse, and where in it."""
    try:
        from rdkit.rdBase import CaptureErrorLog  # not in releases before 2026
    except ImportError:
        return ""
    with CaptureErrorLog() as log:
        Chem.MolFromSmiles(smiles, sanitize=False)
    said = [line.partition("Parse Error: ")[2] for line in log.messages.splitlines()]
    reasons = [
        re.sub(r" (while parsing|for input): .*| while parsing$|:$", "", line)
        for line in said
        if line and not line.startswith("Failed parsing")
    ]
    return f": {', '.join(reasons)}" if reasons else ""


def atoms_and_bonds(
    smiles: str, scheme: MoleculeScheme = "standard"
) -> tuple[Int64[np.ndarray, "atom _"], Int64[np.ndarray, "bond 2"], Int64[np.ndarray, "bond _"]]:
    """Atom features, the two atoms of each bond, bond features; atoms in SMILES order (not "zinc").

    The features are those of `Graph.from_smiles`; raises ValueError as it does.
    """
    molecule = parse_smiles(smiles)
    if scheme == "zinc":
        atom_types, bonds, bond_types = zinc_types(molecule)
        return atom_types[:, None], bonds, bond_types[:, None]
    pairs = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    bonds = np.array(pairs, np.int64).reshape(-1, 2)
    atoms = np.array([_atom(atom) for atom in molecule.GetAtoms()], np.int64)
    features = np.array([_bond(bond) for bond in molecule.GetBonds()], np.int64).reshape(-1, 3)
    if scheme == "standard":
        atoms[:, CHIRALITY], features[:, STEREO] = stereo_labels(molecule)
    return atoms, bonds, features


def _atom(atom: Chem.Atom) -> tuple[int, ...]:
    number, charge = atom.GetAtomicNum(), atom.GetFormalCharge()
    return (
        number - 1 if 1 <= number <= 118 else 118,
        _CHIRALITY.get(atom.GetChiralTag().name, 4),
        min(atom.GetTotalDegree(), 11),
        charge + 5 if -5 <= charge <= 5 else 11,
        min(atom.GetTotalNumHs(), 9),
        min(atom.GetNumRadicalElectrons(), 5),
        _HYBRIDIZATION.get(atom.GetHybridization().name, 5),
        int(atom.GetIsAromatic()),
        int(atom.IsInRing()),
    )


def _bond(bond: Chem.Bond) -> tuple[int, ...]:
    return (
        _BOND.get(bond.GetBondType().name, 4),
        _STEREO.get(bond.GetStereo().name, 0),
        int(bond.GetIsConjugated()),
    )
