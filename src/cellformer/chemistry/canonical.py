"""One SMILES for each molecule."""


def canonical_smiles(smiles: str) -> str | None:
    """RDKit's canonical SMILES; None if there is no valid molecule."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        return Chem.MolToSmiles(molecule) if molecule and molecule.GetNumAtoms() else None
