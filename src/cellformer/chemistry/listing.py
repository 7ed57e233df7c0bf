"""The atoms and bonds that a file lists for a molecule, and the vertices and edges they become.

Hydrogens that are written as atoms are listed, but most are no vertices of the graph.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64
from rdkit import Chem, rdBase

from cellformer.chemistry.bonds import bonds_of
from cellformer.chemistry.inchi import BEGINNING
from cellformer.chemistry.reasons import one_reason, quoted
from cellformer.chemistry.smiles import parse_smiles
from cellformer.chemistry.writing import written

_PLACE = "_listed_place"


@dataclass(frozen=True, eq=False)
class MoleculeRecord:
    """The atoms and bonds of a structure in a file, for a SMILES that was written of it."""

    atoms: Int64[np.ndarray, " listed"]  # the atom of the SMILES, -1 where it has none
    bonds: Int64[np.ndarray, "bond 2"]  # the two listed atoms


@dataclass(frozen=True, eq=False)
class Listing:
    """Where listed atoms and bonds are in the graph of a molecule; -1 where they are not in it."""

    vertices: Int64[np.ndarray, " listed_atom"]
    edges: Int64[np.ndarray, " listed_bond"]
    num_vertices: int
    num_edges: int

    def of_rank(self, rank: int) -> tuple[Int64[np.ndarray, " listed"], int]:
        """The cells of rank 0 or 1 that are listed, and how many cells there are."""
        return (self.edges, self.num_edges) if rank else (self.vertices, self.num_vertices)


def listing_of(smiles: str, record: MoleculeRecord | None = None) -> Listing:
    """The atoms in the order of a SMILES, or of the record that it was written of; so the bonds.

    Bonds have the order of RDKit's numbers: as written, those that close rings last. Raises
    ValueError for an invalid molecule, and for an InChI, which has no order of atoms.
    """
    if smiles.lstrip().startswith(BEGINNING):
        raise ValueError(
            f"{quoted(smiles)} has no order of atoms to list values in; write it as SMILES"
        )
    molecule = parse_smiles(smiles)
    as_written, kept = _kept_atoms(Chem.MolFromSmiles(smiles, sanitize=False), smiles)
    if len(kept) != molecule.GetNumAtoms():
        raise ValueError(f"{quoted(smiles)}: it is not clear which of its atoms hydrogens are")
    vertices = np.full(as_written.GetNumAtoms(), -1)
    vertices[kept] = np.arange(len(kept))
    pairs = _pairs(as_written)
    if record is not None:
        listed = np.where(record.atoms >= 0, vertices[record.atoms], -1)
        vertices, pairs = listed, record.bonds
    edges = {
        (min(pair), max(pair)): number for number, pair in enumerate(_pairs(molecule).tolist())
    }
    ends = vertices[pairs].reshape(-1, 2)
    found = [edges.get((min(a, b), max(a, b)), -1) for a, b in ends.tolist()]
    return Listing(vertices, np.array(found, np.int64), len(kept), molecule.GetNumBonds())


def written_record(molecule: Chem.Mol, raw: Chem.Mol) -> tuple[str, MoleculeRecord]:
    """The SMILES of a structure, and its record; ``raw`` is the same with all of its hydrogens.

    Raises ValueError for a molecule that is too large to be written.
    """
    smiles = written(molecule)
    order = list(molecule.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
    kept = np.arange(raw.GetNumAtoms())
    if len(kept) != molecule.GetNumAtoms():
        _, kept = _kept_atoms(raw, smiles)
    atoms = np.full(raw.GetNumAtoms(), -1)
    if len(kept) == len(order):  # else nothing is known of any atom, and no list is right
        atoms[kept[order]] = np.arange(len(order))
    return smiles, MoleculeRecord(atoms, _pairs(raw))


def _kept_atoms(molecule: Chem.Mol, smiles: str) -> tuple[Chem.Mol, Int64[np.ndarray, " kept"]]:
    """A molecule with all of its hydrogens, and the atoms that are left without most of them."""
    everything = np.arange(molecule.GetNumAtoms())
    if all(atom.GetAtomicNum() != 1 for atom in molecule.GetAtoms()):
        return molecule, everything
    for atom in molecule.GetAtoms():
        atom.SetIntProp(_PLACE, atom.GetIdx())
    with rdBase.BlockLogs(), one_reason(smiles):
        left = Chem.RemoveHs(molecule)
    kept = [atom.GetIntProp(_PLACE) for atom in left.GetAtoms()]
    return molecule, np.array(kept, np.int64)


def _pairs(molecule: Chem.Mol) -> Int64[np.ndarray, "bond 2"]:
    pairs = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds_of(molecule)]
    return np.array(pairs, np.int64).reshape(-1, 2)
