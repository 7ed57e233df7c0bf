"""SMILES of molecules that RDKit has read."""

from rdkit import Chem

from cellformer.chemistry.limits import MAX_ATOMS


def written(molecule: Chem.Mol, kekule: bool = False) -> str:
    """RDKit's canonical SMILES; of more than `MAX_ATOMS` atoms one in the order they are in.

    ``kekule`` writes single and double bonds for aromatic ones.
    """
    canonical = molecule.GetNumAtoms() <= MAX_ATOMS
    return str(Chem.MolToSmiles(molecule, canonical=canonical, kekuleSmiles=kekule))
