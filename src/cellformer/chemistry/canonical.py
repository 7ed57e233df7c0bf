"""One SMILES for each molecule."""


def canonical_smiles(smiles: str) -> str | None:
    """RDKit's canonical SMILES; None if there is no valid molecule.

    A molecule of more than `MAX_WRITTEN_ATOMS` is told by the SMILES it came with.
    """
    from rdkit import rdBase

    from cellformer.chemistry.limits import MAX_WRITTEN_ATOMS
    from cellformer.chemistry.reasons import one_reason
    from cellformer.chemistry.smiles import parse_smiles
    from cellformer.chemistry.writing import written

    try:
        molecule = parse_smiles(smiles)
        if molecule.GetNumAtoms() > MAX_WRITTEN_ATOMS:
            return smiles.strip()
        with rdBase.BlockLogs(), one_reason(smiles):
            return written(molecule)
    except ValueError:
        return None
