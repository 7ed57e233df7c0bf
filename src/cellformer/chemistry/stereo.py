"""Stereochemistry by labels that do not depend on the order of the atoms."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64
from rdkit import Chem, rdBase
from rdkit.Chem import rdCIPLabeler

ATOM_LABELS = {"R": 1, "S": 2, "r": 3, "s": 4}
BOND_LABELS = {"Z": 1, "E": 2, "z": 3, "e": 4, "M": 5, "P": 5, "m": 5, "p": 5}
MAX_STEPS = 500_000  # of molecules of up to so many atoms; of larger ones, whose steps take longer,
LARGE = 2_000  # in proportion fewer


def stereo_labels(
    molecule: Chem.Mol, atoms: Sequence[Chem.Atom], bonds: Sequence[Chem.Bond]
) -> tuple[Int64[np.ndarray, " atom"], Int64[np.ndarray, " bond"]]:
    """A number for the Cahn-Ingold-Prelog label of each atom and bond, 0 where there is none.

    ``atoms`` and ``bonds`` are those of the molecule, in the order of their numbers.

    Atoms: R 1, S 2, and 3 and 4 where only other labels tell two neighbors apart. Bonds: Z 1,
    E 2, 3 and 4 likewise, 5 for an axis. Labels are those of the revised rules (P. Mata et al.;
    Hanson et al., J. Chem. Inf. Model. 2018, 58, 1755) in RDKit; a molecule so large and symmetric
    that they are not found within a limit of steps gets no labels at all. Of a ring whose atoms
    differ by nothing but stereochemistry, such as an inositol, RDKit may label other atoms when
    they are numbered otherwise; its canonical SMILES is not unique there either.
    """
    of_atoms, of_bonds = np.zeros(len(atoms), np.int64), np.zeros(len(bonds), np.int64)
    if not _has_stereo(atoms, bonds):
        return of_atoms, of_bonds
    steps = MAX_STEPS * LARGE // max(len(atoms), LARGE)
    with rdBase.BlockLogs():
        try:
            rdCIPLabeler.AssignCIPLabels(molecule, maxRecursiveIterations=steps)
        except RuntimeError:
            return of_atoms, of_bonds
    for number, atom in enumerate(atoms):
        if atom.HasProp("_CIPCode"):
            of_atoms[number] = ATOM_LABELS.get(atom.GetProp("_CIPCode"), 0)
    for number, bond in enumerate(bonds):
        if bond.HasProp("_CIPCode"):
            of_bonds[number] = BOND_LABELS.get(bond.GetProp("_CIPCode"), 0)
    return of_atoms, of_bonds


def _has_stereo(atoms: Sequence[Chem.Atom], bonds: Sequence[Chem.Bond]) -> bool:
    return any(atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED for atom in atoms) or any(
        bond.GetStereo() not in (Chem.BondStereo.STEREONONE, Chem.BondStereo.STEREOANY)
        for bond in bonds
    )
