"""SMILES of molecules that RDKit has read."""

from rdkit import Chem

from cellformer.chemistry.limits import MAX_WRITTEN_ATOMS


def written(molecule: Chem.Mol, kekule: bool = False) -> str:
    """RDKit's canonical SMILES; ``kekule`` writes single and double bonds for aromatic ones.

    Raises ValueError for a molecule of more than `MAX_WRITTEN_ATOMS`.
    """
    check_written(molecule)
    return str(Chem.MolToSmiles(molecule, kekuleSmiles=kekule))


def check_written(molecule: Chem.Mol) -> None:
    """Raises ValueError unless RDKit can write the molecule and its fragments."""
    if molecule.GetNumAtoms() > MAX_WRITTEN_ATOMS:
        raise ValueError(
            f"the molecule has {molecule.GetNumAtoms():,} atoms; RDKit writes SMILES of up to "
            f"{MAX_WRITTEN_ATOMS:,}, which the features of ZINC-12k and the choice of a fragment "
            "need"
        )
