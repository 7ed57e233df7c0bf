"""The atom and bond types of ZINC-12k.

Source: Dwivedi et al., "Benchmarking Graph Neural Networks" (arXiv:2003.00982), whose dictionary
numbers atoms by element, hydrogens written in the bracket, and charge, in the Kekule form.
"""

import numpy as np
from jaxtyping import Int64
from rdkit import Chem

from cellformer.chemistry.bonds import bonds_of
from cellformer.chemistry.reasons import quoted
from cellformer.chemistry.writing import written

ATOM_TYPES = (
    "C", "O", "N", "F", "C H1", "S", "Cl", "O -", "N H1 +", "Br", "N H3 +", "N H2 +", "N +", "N -",
    "S -", "I", "P", "O H1 +", "N H1 -", "O +", "S +", "P H1", "P H2", "C H2 -", "P +", "S H1 +",
    "C H1 -", "P H1 +",
)  # fmt: skip
"""What the numbers 0 ... 27 stand for."""

_NUMBER = {kind: number for number, kind in enumerate(ATOM_TYPES)}
_BOND_TYPES = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3}
_CHARGES = {-1: " -", 0: "", 1: " +"}


def zinc_types(
    molecule: Chem.Mol,
) -> tuple[Int64[np.ndarray, " atom"], Int64[np.ndarray, "bond 2"], Int64[np.ndarray, " bond"]]:
    """Atom types 0 ... 27, the two atoms of each bond, bond types: single 1, double 2, triple 3.

    As in the published set, atoms come in the order of the molecule's canonical Kekule SMILES, and
    which bonds of an aromatic ring are double is as written there. Raises ValueError, naming the
    atom, where the dictionary has no such type or bond, and for a molecule too large to be written.
    """
    text = zinc_smiles(molecule)
    as_written = Chem.MolFromSmiles(text, sanitize=False)
    atoms = [_atom(atom, text) for atom in as_written.GetAtoms()]
    listed = bonds_of(as_written)
    pairs = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in listed]
    bonds = [_bond(bond, text) for bond in listed]
    return (
        np.array(atoms, np.int64),
        np.array(pairs, np.int64).reshape(-1, 2),
        np.array(bonds, np.int64),
    )


def zinc_smiles(molecule: Chem.Mol) -> str:
    """The canonical Kekule SMILES of a molecule, in whose order its types come.

    Raises ValueError for a molecule too large to be written.
    """
    kekulized = Chem.Mol(molecule)
    Chem.Kekulize(kekulized)
    return written(kekulized, kekule=True)


def _atom(atom: Chem.Atom, text: str) -> int:
    hydrogens = atom.GetNumExplicitHs()  # those in the bracket
    kind = (
        atom.GetSymbol()
        + (f" H{hydrogens}" if hydrogens else "")
        + _CHARGES.get(atom.GetFormalCharge(), " ?")
    )
    if kind not in _NUMBER:
        raise ValueError(
            f"atom {atom.GetIdx()} of {quoted(text)} is of the type {kind!r}, which ZINC-12k "
            "has not; use other features"
        )
    return _NUMBER[kind]


def _bond(bond: Chem.Bond, text: str) -> int:
    kind = bond.GetBondType().name
    if kind not in _BOND_TYPES:
        raise ValueError(
            f"bond {bond.GetIdx()} of {quoted(text)} is {kind.lower()}, which ZINC-12k has "
            "not; use other features"
        )
    return _BOND_TYPES[kind]
