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

from cellformer.chemistry.bonds import bonds_of
from cellformer.chemistry.inchi import BEGINNING, smiles_of_inchi
from cellformer.chemistry.limits import MAX_ON_ONE_ATOM, check_text
from cellformer.chemistry.reasons import captured, one_reason, quoted
from cellformer.chemistry.ring_systems import check_rings
from cellformer.chemistry.scheme import MoleculeScheme
from cellformer.chemistry.stereo import stereo_labels
from cellformer.chemistry.zinc_types import zinc_smiles, zinc_types

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
    """RDKit's sanitized molecule.

    Raises ValueError, in one line, with RDKit's reason where there is none, and where the molecule
    is beyond the limits of `limits` and `ring_systems`. A name behind the SMILES is left out, and
    an InChI is read too.
    """
    if not smiles.strip():
        raise ValueError("the SMILES is empty")
    if smiles.lstrip().startswith(BEGINNING):
        smiles = smiles_of_inchi(smiles)
    check_text(smiles)
    with rdBase.BlockLogs(), one_reason(smiles):
        as_written = Chem.MolFromSmiles(smiles, sanitize=False)
        if as_written is None:
            raise ValueError(f"{quoted(smiles)} is not a SMILES string{_syntax_error(smiles)}")
        if not as_written.GetNumAtoms():
            raise ValueError(f"{quoted(smiles)} has no atoms")
        _check_neighbors(as_written, smiles)
        check_rings(as_written, smiles.count(".") + 1, quoted(smiles))
        molecule = _sanitized(as_written, smiles)
        if molecule is None:
            problems = Chem.DetectChemistryProblems(as_written)
            reason = f": {problems[0].Message()}" if problems else ""
            raise ValueError(f"{quoted(smiles)} is not a valid molecule{reason}")
    return molecule


def _sanitized(as_written: Chem.Mol, smiles: str) -> Chem.Mol | None:
    """What ``Chem.MolFromSmiles`` makes of a molecule that is parsed; None where it fails.

    These are its steps without the mark for atoms that could be stereocenters and are none, which
    nothing here looks at: finding them takes quadratic time.
    """
    if "|" in smiles:  # an extension, whose stereochemistry is read in steps of its own
        return Chem.MolFromSmiles(smiles)
    try:
        molecule = Chem.RemoveHs(as_written)
    except Chem.MolSanitizeException:
        return None
    Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
    return molecule


def _check_neighbors(molecule: Chem.Mol, smiles: str) -> None:
    """Raises ValueError where an atom has more neighbors than RDKit can count."""
    if molecule.GetNumBonds() <= MAX_ON_ONE_ATOM:
        return
    for atom in molecule.GetAtoms():
        if atom.GetDegree() > MAX_ON_ONE_ATOM:
            raise ValueError(
                f"{quoted(smiles)}: atom {atom.GetIdx()} has {atom.GetDegree()} neighbors; RDKit "
                f"counts them up to {MAX_ON_ONE_ATOM}"
            )


def _syntax_error(smiles: str) -> str:
    """What RDKit logs about a string that it cannot parse, and where in it; or what it is."""
    first = smiles.split()[0]
    if first.replace("->", "").count(">") == 2:  # dative bonds are arrows too
        return ", but a reaction; give its molecules one by one"
    if re.fullmatch(r"[A-Z]{14}-[A-Z]{10}-[A-Z]", first):
        return ", but an InChIKey, from which no structure can be read"
    messages = captured(lambda: Chem.MolFromSmiles(smiles, sanitize=False))
    said = [line.partition("Parse Error: ")[2] for line in messages.splitlines()]
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
    with one_reason(smiles):
        if scheme == "zinc":
            atom_types, bonds, bond_types = zinc_types(molecule)
            return atom_types[:, None], bonds, bond_types[:, None]
        # RDKit's sequences are slow to go through, so each of them is once.
        listed_atoms, listed = list(molecule.GetAtoms()), bonds_of(molecule)
        pairs = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in listed]
        bonds = np.array(pairs, np.int64).reshape(-1, 2)
        atoms = np.array([_atom(atom) for atom in listed_atoms], np.int64)
        features = np.array([_bond(bond) for bond in listed], np.int64).reshape(-1, 3)
        if scheme == "standard":
            labels = stereo_labels(molecule, listed_atoms, listed)
            atoms[:, CHIRALITY], features[:, STEREO] = labels
    return atoms, bonds, features


def in_graph_order(smiles: str, scheme: MoleculeScheme) -> str:
    """A SMILES of the molecule whose atoms come in the order of the vertices of its graph.

    Raises ValueError if the SMILES is not valid.
    """
    if scheme != "zinc":
        return smiles
    with one_reason(smiles):
        return zinc_smiles(parse_smiles(smiles))


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
